"""What operators see of real servers: two workers, one killed; logs; a collector of spans."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import numpy as np
import psutil
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.ports import free_port
from tests.waiting import until

pytestmark = pytest.mark.e2e

ANSWERED = 'dynaserve_requests_total{endpoint="/predict",status="200"}'
IN_FLIGHT = "dynaserve_requests_in_flight"
SECRET = "471108151623"
"""Somewhere in every request of ``odd_requests``, and to be found nowhere else."""


def read(url: str) -> dict[str, float]:
    """Return samples by name and labels, written as Prometheus does."""
    found = {}
    for family in text_string_to_metric_families(httpx.get(url, timeout=30).text):
        for sample in family.samples:
            labels = ",".join(f'{key}="{sample.labels[key]}"' for key in sorted(sample.labels))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def scraped(url: str) -> dict[str, float]:
    """Return every sample, once none is on its way: requests are counted after their answers."""

    def ended(found: dict[str, float]) -> dict[str, float]:
        ours = (name for name in found if name.startswith("dynaserve_requests_total"))
        return {name: found[name] for name in ours if "/metrics" not in name}

    before, after = {"": 0.0}, read(url)
    while ended(before) != ended(after):
        time.sleep(0.1)
        before, after = after, read(url)
    return after


def odd_requests(url: str) -> None:
    """Send requests whose every part holds what nobody should see again."""
    with httpx.Client(base_url=url, timeout=30) as client:
        client.get(f"/{SECRET}/of/mine?q={SECRET}")
        client.post("/predict", json={"inputs": [[float(SECRET)]]}, params={"q": SECRET})
        client.post("/predict", json={"inputs": [[float(SECRET)] * 64]})
        client.post("/predict", content=SECRET, headers={"x-request-id": f"no good {SECRET}"})
        client.request(f"M{SECRET}", "/predict")


class Collector(BaseHTTPRequestHandler):
    """Keeps the spans that it is sent."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                self.server.spans.extend(scope.spans)  # type: ignore[attr-defined]
        self.server.bodies.append(body)  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def collector() -> Iterator[Any]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    server.spans, server.bodies = [], []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def server(serve: Any) -> Any:
    """Two workers; metrics at the port of the service, logs for machines."""
    return serve(workers=2, logs="json", body_seconds=60, seconds=60)


@pytest.fixture(scope="module")
def apart(serve: Any, collector: Any) -> Any:
    """Two workers; metrics at a port of their own, spans to a collector."""
    return serve(
        workers=2,
        metrics=f"127.0.0.1:{free_port()}",
        traces=f"http://127.0.0.1:{collector.server_port}",
        body_seconds=60,
        seconds=60,
    )


def metrics_url(server: Any) -> str:
    address = server.environment["DYNASERVE_METRICS"]
    return f"http://{address}/metrics" if address else f"{server.url}/metrics"


@pytest.fixture(params=["server", "apart"])
def either(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def test_every_worker_is_in_the_sum_whoever_is_asked(either: Any, digits: Any) -> None:
    before = scraped(metrics_url(either)).get(ANSWERED, 0)
    clients = either.kept_open()
    for client in clients:
        assert either.predict(digits[:2], client).status_code == 200
    after = [scraped(metrics_url(either)) for _ in range(6)]
    # kept_open asks once with each of its clients
    assert {found[ANSWERED] - before for found in after} == {2 * len(clients)}
    for client in clients:
        client.close()


def test_rows_calls_phases_and_repeats(either: Any, digits: Any) -> None:
    url = metrics_url(either)
    rows = [[float(value) + 0.25 for value in row] for row in digits[:30]]
    before = scraped(url)
    with httpx.Client() as client:  # one connection: one worker, which remembers
        assert either.predict(rows, client).status_code == 200
        assert either.predict(rows[:20], client).status_code == 200
        assert scraped(url)["dynaserve_repeated_rows_total"] == before.get(
            "dynaserve_repeated_rows_total", 0
        )  # of so few nothing is told
        others = [[value + 0.125 for value in row] for row in digits[:1000]]
        assert either.predict(others, client).status_code == 200
    after = scraped(url)

    def grown(name: str) -> float:
        return after[name] - before.get(name, 0)

    assert grown("dynaserve_batch_rows_sum") == 1050
    assert grown("dynaserve_batch_rows_count") == 3
    assert grown("dynaserve_repeated_rows_total") >= 20
    for phase in ("queue", "model", "defense"):
        assert grown(f'dynaserve_phase_seconds_count{{phase="{phase}"}}') == 3
    assert grown('dynaserve_phase_seconds_sum{phase="defense"}') > 0
    total = 'dynaserve_request_seconds_sum{endpoint="/predict"}'
    parts = sum(
        grown(f'dynaserve_phase_seconds_sum{{phase="{phase}"}}')
        for phase in ("queue", "model", "defense")
    )
    assert 0 < parts < grown(total)


def test_labels_kept_are_counted(server: Any, digits: Any) -> None:
    before = scraped(metrics_url(server))["dynaserve_labels_kept_total"]
    rows = np.array(digits)
    between = (rows[1:] + rows[:-1]) / 2  # two digits in one: the model is not sure
    assert server.predict(between.tolist()).status_code == 200
    assert scraped(metrics_url(server))["dynaserve_labels_kept_total"] > before


def test_refusals_count_by_reason_and_unknown_paths_as_one(either: Any) -> None:
    url = metrics_url(either)
    before = scraped(url)
    odd_requests(either.url)
    after = scraped(url)

    def grown(name: str) -> float:
        return after[name] - before.get(name, 0)

    assert grown('dynaserve_rejected_requests_total{reason="malformed"}') >= 2
    assert grown('dynaserve_requests_total{endpoint="unknown",status="404"}') == 1
    assert not any(SECRET in name for name in after)
    endpoints = {name.split('endpoint="')[1].split('"')[0] for name in after if "endpoint=" in name}
    assert endpoints <= {"/predict", "/readyz", "/livez", "/metrics", "unknown"}


def test_the_gauge_of_a_killed_worker_goes_and_its_counts_stay(either: Any, digits: Any) -> None:
    url = metrics_url(either)
    clients = either.kept_open()
    for client in clients:
        assert either.predict(digits[:1], client).status_code == 200
        client.close()
    before = scraped(url)
    here = int(url.startswith(either.url))  # the scrape itself is a request too
    with ExitStack() as stack:
        # One that waits for its body is in flight until its client or its worker ends.
        waiting = []
        for _ in range(12):
            held = stack.enter_context(socket.create_connection(("127.0.0.1", either.port)))
            held.sendall(
                b"POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\n"
                b"content-type: application/json\r\ncontent-length: 9999\r\n\r\n{"
            )
            waiting.append(held)
        until(lambda: scraped(url)[IN_FLIGHT] == 12 + here)
        victim = max(either.workers(), key=lambda worker: connections(worker, waiting))
        lost = connections(victim, waiting)
        os.kill(victim.pid, signal.SIGKILL)
        until(lambda: scraped(url)[IN_FLIGHT] == 12 - lost + here)
    until(lambda: scraped(url)[IN_FLIGHT] == here)
    assert lost > 0
    assert scraped(url)[ANSWERED] == before[ANSWERED]
    until(lambda: len(workers(either)) == 2)


def workers(server: Any) -> list[Any]:
    """Return the workers; none while one of them is just ending."""
    with suppress(psutil.Error):
        return list(server.workers())
    return []


def connections(worker: Any, clients: list[socket.socket]) -> int:
    """Return how many of the sockets a worker holds the other end of."""
    ports = {client.getsockname()[1] for client in clients}
    return sum(each.raddr.port in ports for each in worker.net_connections("tcp") if each.raddr)


def test_metrics_that_are_bound_apart_are_nowhere_else(apart: Any) -> None:
    answer = httpx.get(f"{apart.url}/metrics")
    assert answer.status_code == 404
    assert "dynaserve_" not in answer.text


def test_a_second_server_leaves_the_counts_of_the_first_alone(
    server: Any, apart: Any, digits: Any
) -> None:
    for each, other in ((server, apart), (apart, server)):
        before, others = scraped(metrics_url(each)), scraped(metrics_url(other))
        assert each.predict(digits[:1]).status_code == 200
        assert scraped(metrics_url(each))[ANSWERED] == before[ANSWERED] + 1
        assert scraped(metrics_url(other))[ANSWERED] == others[ANSWERED]


def test_all_lines_of_the_log_are_json_and_hold_no_request(server: Any, digits: Any) -> None:
    start = len(server.logged())
    odd_requests(server.url)
    headers = {"x-request-id": "mine-1"}
    answer = httpx.post(f"{server.url}/predict", json={"inputs": digits[:3]}, headers=headers)
    assert answer.headers["x-request-id"] == "mine-1"
    assert re.fullmatch("[0-9a-f]{32}", httpx.get(f"{server.url}/livez").headers["x-request-id"])

    def lines() -> list[dict[str, Any]]:
        return [json.loads(line) for line in server.logged()[start:].splitlines()]

    until(lambda: any(line.get("endpoint") == "/livez" for line in lines()))
    assert SECRET not in server.logged()
    (mine,) = [line for line in lines() if line.get("request_id") == "mine-1"]
    assert (mine["endpoint"], mine["method"], mine["status"]) == ("/predict", "POST", 200)
    assert mine["rows"] == 3
    assert 0 < mine["model_ms"] <= mine["total_ms"]
    refused = [line for line in lines() if line["event"] == "request" and line["status"] == 400]
    assert {line["refused"] for line in refused} == {"malformed"}
    assert {line["level"] for line in refused} == {"warning"}


def test_the_lines_of_a_start_are_json_too(server: Any) -> None:
    events = [json.loads(line) for line in server.logged().splitlines()]
    assert any("Starting production" in line.get("message", "") for line in events)
    assert any("initialized" in line.get("message", "") for line in events)


def test_spans_reach_a_collector_and_the_last_ones_at_the_end(
    apart: Any, collector: Any, digits: Any
) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    body = {"inputs": digits[:3]}
    assert httpx.post(f"{apart.url}/predict", json=body, headers=headers).status_code == 200
    odd_requests(apart.url)
    # Spans go out every five seconds: what was not sent by now is sent by the end of the worker.
    apart.stop()
    mine = {span.name: span for span in collector.spans if span.trace_id.hex() == trace}
    assert set(mine) == {"POST /predict", "queue", "model", "defense"}
    assert mine["model"].parent_span_id == mine["POST /predict"].span_id
    assert mine["POST /predict"].parent_span_id.hex() == "b7ad6b7169203331"
    assert any(b"dynaserve-classifier" in body for body in collector.bodies)
    assert not any(SECRET.encode() in body for body in collector.bodies)
