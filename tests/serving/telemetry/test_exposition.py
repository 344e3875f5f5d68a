"""Counts of several real processes, added up by a further one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as families
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from benchmarks.ports import free_port
from dynaserve.serving import connections
from dynaserve.serving.telemetry import exposition, metrics, start_metrics
from dynaserve.serving.telemetry.exposition import serve_metrics
from dynaserve.serving.telemetry.folder import CLIENT_FOLDER, OWN_FOLDER

WORKER = """\
import sys
from dynaserve.serving.telemetry import Observer, count_call, counts
from dynaserve.serving.visit import Visit
from types import SimpleNamespace

observer = Observer(SimpleNamespace(logs="off", traces=None), "test")
for _ in range(int(sys.argv[1])):
    observer.begin()
    visit = Visit(id="", endpoint="/predict", status=200, model=0.001)
    observer.end({"method": "POST", "headers": []}, visit, 0.004)
observer.begin()  # and one that does not end
count_call(5, repeated=2)
count_call(1000)
print("counted", flush=True)
sys.stdin.read()
"""


@contextmanager
def worker(folder: Path, requests: int) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(requests)],
        env=os.environ | {OWN_FOLDER: str(folder), CLIENT_FOLDER: "/nowhere"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "counted\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def read(text: str, parse: Any = families) -> dict[tuple[str, tuple[Any, ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parse(text)
        for sample in family.samples
    }


ANSWERED = ("dynaserve_requests_total", (("endpoint", "/predict"), ("status", "200")))
IN_FLIGHT = ("dynaserve_requests_in_flight", ())


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.delenv(OWN_FOLDER, raising=False)
    monkeypatch.setenv(CLIENT_FOLDER, str(tmp_path))
    with TestClient(Starlette(routes=[Route("/metrics", metrics)])) as client:
        yield client


def test_counts_are_summed_and_outlive_a_killed_worker_but_gauges_do_not(
    client: TestClient, tmp_path: Path
) -> None:
    with worker(tmp_path, 3), worker(tmp_path, 4) as second:
        found = read(client.get("/metrics").text)
        assert found[ANSWERED] == 7
        assert found[IN_FLIGHT] == 2
        assert found["dynaserve_batch_rows_sum", ()] == 2010
        assert found["dynaserve_repeated_rows_total", ()] == 4
        os.kill(second.pid, signal.SIGKILL)
        second.wait()
        found = read(client.get("/metrics").text)
        assert found[ANSWERED] == 7
        assert found[IN_FLIGHT] == 1
        with worker(tmp_path, 2):
            found = read(client.get("/metrics").text)
            assert found[ANSWERED] == 9
            assert found[IN_FLIGHT] == 2
    found = read(client.get("/metrics").text)
    assert IN_FLIGHT not in found
    assert found[ANSWERED] == 9
    # Three dead workers, and no more files than one of them had.
    assert sorted(file.name for file in tmp_path.rglob("*.db")) == [
        "counter_sum.db",
        "histogram_sum.db",
    ]


def test_what_nothing_has_counted_yet_is_there_as_zero(client: TestClient, tmp_path: Path) -> None:
    with worker(tmp_path, 0):
        found = read(client.get("/metrics").text)
    for name in ("labels_kept", "budget_refusals"):
        assert found[f"dynaserve_{name}_total", ()] == 0
    assert found["dynaserve_rejected_requests_total", (("reason", "malformed"),)] == 0


def test_both_formats_are_spoken(client: TestClient, tmp_path: Path) -> None:
    with worker(tmp_path, 3):
        plain = client.get("/metrics")
        opened = client.get("/metrics", headers={"accept": "application/openmetrics-text"})
    assert plain.headers["content-type"].startswith("text/plain; version=")
    assert opened.headers["content-type"].startswith("application/openmetrics-text")
    assert read(opened.text, open_metrics)[ANSWERED] == read(plain.text)[ANSWERED] == 3
    # Buckets of a histogram come in order, before their count and sum.
    lines = [line for line in plain.text.splitlines() if line.startswith("dynaserve_batch_rows")]
    assert [line.split("{")[0].split(" ")[0].rpartition("_")[2] for line in lines] == [
        *["bucket"] * 16,
        "count",
        "sum",
    ]


def test_one_process_needs_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (OWN_FOLDER, CLIENT_FOLDER):
        monkeypatch.delenv(name, raising=False)
    with TestClient(Starlette(routes=[Route("/metrics", metrics)])) as client:
        assert "dynaserve_requests_in_flight 0.0" in client.get("/metrics").text


def test_a_worker_that_counts_by_itself_still_tells_of_the_others(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CLIENT_FOLDER)
    monkeypatch.setenv(OWN_FOLDER, str(tmp_path))
    with worker(tmp_path, 3):
        assert read(client.get("/metrics").text)[ANSWERED] == 3


@pytest.fixture(name="free_port")
def a_free_port() -> int:
    return free_port()


SUPERVISOR = """\
import sys
from dynaserve.serving.telemetry import start_metrics
start_metrics(sys.argv[1])
import os
print(os.environ["DYNASERVE_METRICS_DIR"], flush=True)
sys.stdin.read()
"""


def test_a_supervisor_serves_the_counts_of_its_workers_apart(free_port: int) -> None:
    address = f"127.0.0.1:{free_port}"
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as supervisor:
        assert supervisor.stdout is not None
        folder = Path(supervisor.stdout.readline().strip())
        with worker(folder, 6):
            found = read(httpx.get(f"http://{address}/metrics").text)
        assert found[ANSWERED] == 6
        supervisor.communicate("")
    assert supervisor.returncode == 0
    assert not folder.exists()


def test_ipv6_and_free_ports(tmp_path: Path) -> None:
    port = serve_metrics("[::1]:0", str(tmp_path))
    assert httpx.get(f"http://[::1]:{port}/metrics").status_code == 200


def test_a_port_of_its_own_has_the_metrics_and_nothing_else(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{serve_metrics('127.0.0.1:0', str(tmp_path))}"
    for path in ("/", "/favicon.ico", "/metrics/", "/metricsx", "/metrics/x"):
        assert httpx.get(url + path).status_code == 404
    assert httpx.post(f"{url}/metrics").status_code == 405
    answer = httpx.get(f"{url}/metrics", headers={"accept": "application/openmetrics-text"})
    assert (answer.status_code, answer.headers.get("server")) == (200, None)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")


def test_slow_readers_of_the_metrics_hold_no_thread_and_are_sent_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1.0)
    port = serve_metrics("127.0.0.1:0", str(tmp_path))
    threads = threading.active_count()
    slow = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(40)]
    try:
        for each in slow:
            each.sendall(b"GET /metrics HTTP/1.1\r\nhost: x\r\n")
        with ThreadPoolExecutor(16) as pool:
            url = f"http://127.0.0.1:{port}/metrics"
            answers = pool.map(lambda _: httpx.get(url, timeout=60).status_code, range(64))
            assert set(answers) == {200}
        assert threading.active_count() <= threads + exposition.READERS
        for each in slow:
            with suppress(ConnectionResetError):
                assert each.recv(1000) == b""
    finally:
        for each in slow:
            each.close()


def test_a_port_that_is_taken_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free_port: int
) -> None:
    monkeypatch.setenv(OWN_FOLDER, "")  # so that it is put back
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with socket.create_server(("127.0.0.1", free_port)):
        address = f"127.0.0.1:{free_port}"
        with pytest.raises(ValueError, match=f"metrics: {address} cannot be listened on"):
            start_metrics(address)
    with pytest.raises(ValueError, match="cannot be listened on"):
        start_metrics("192.0.2.1:9090")  # another machine's
