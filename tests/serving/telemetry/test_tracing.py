"""Spans as a collector gets them: over HTTP, decoded from protobuf."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from dynaserve._version import __version__
from dynaserve.serving.telemetry import Observer, tracing
from dynaserve.serving.visit import Visit


class Collector(BaseHTTPRequestHandler):
    """Keeps what it is sent."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((self.path, self.headers["content-type"], body))  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Any]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    server.got = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def url(collector: Any) -> str:
    return f"http://127.0.0.1:{collector.server_port}"


def observe(url: str | None, *visits: tuple[Visit, dict[str, Any]], seconds: float = 0.01) -> None:
    observer = Observer(SimpleNamespace(logs="off", traces=url), "dynaserve-classifier")
    for visit, scope in visits:
        observer.begin()
        asked = {"method": "POST", "headers": [], "scheme": "http", "http_version": "1.1"}
        observer.end(asked | scope, visit, seconds)
    observer.close()


def spans(collector: Any) -> list[Span]:
    found = []
    for path, media_type, body in collector.got:
        assert (path, media_type) == ("/v1/traces", "application/x-protobuf")
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                found += scope.spans
    return found


def attributes(thing: Any) -> dict[str, Any]:
    return {item.key: item.value.int_value or item.value.string_value for item in thing.attributes}


VISIT = Visit(
    id="abc", endpoint="/predict", rows=5, status=200, queue=0.001, model=0.006, defense=0.0005
)


def test_a_request_is_a_span_with_its_parts_inside(collector: Any, url: str) -> None:
    before = time.time_ns()
    observe(url, (VISIT, {}))
    server, *parts = sorted(spans(collector), key=lambda span: span.start_time_unix_nano)
    assert server.name == "POST /predict"
    assert server.kind == Span.SPAN_KIND_SERVER
    assert server.end_time_unix_nano - server.start_time_unix_nano == 10_000_000
    assert before <= server.end_time_unix_nano <= time.time_ns()
    assert attributes(server) == {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "http.route": "/predict",
        "url.scheme": "http",
        "network.protocol.version": "1.1",
        "dynaserve.request_id": "abc",
        "dynaserve.rows": 5,
    }
    assert server.status.code == Status.STATUS_CODE_UNSET
    assert [part.name for part in parts] == ["queue", "model", "defense"]
    assert all(part.parent_span_id == server.span_id for part in parts)
    assert {part.trace_id for part in parts} == {server.trace_id}
    lengths = [part.end_time_unix_nano - part.start_time_unix_nano for part in parts]
    assert lengths == [1_000_000, 6_000_000, 500_000]
    assert parts[0].end_time_unix_nano == parts[1].start_time_unix_nano
    assert parts[1].end_time_unix_nano == parts[2].start_time_unix_nano
    assert parts[2].end_time_unix_nano == server.end_time_unix_nano
    assert server.start_time_unix_nano <= parts[0].start_time_unix_nano


def test_the_resource_says_which_service(
    collector: Any, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    observe(url, (VISIT, {}))
    monkeypatch.setenv("OTEL_SERVICE_NAME", "theirs")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    observe(url, (VISIT, {}))
    ours, theirs = (
        attributes(ExportTraceServiceRequest.FromString(body).resource_spans[0].resource)
        for _, _, body in collector.got
    )
    assert ours["service.name"] == "dynaserve-classifier"
    assert ours["service.version"] == __version__
    assert ours["service.instance.id"] != theirs["service.instance.id"]
    assert theirs["service.name"] == "theirs"
    assert theirs["deployment.environment.name"] == "test"


TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_the_trace_of_the_client_goes_on(
    collector: Any, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    headers = [
        (b"traceparent", f"00-{TRACE}-{PARENT}-01".encode()),
        (b"tracestate", b"vendor=1"),
        (b"baggage", b"user=4711"),
    ]
    observer = Observer(SimpleNamespace(logs="json", traces=url), "test")
    observer.begin()
    observer.end({"method": "POST", "headers": headers}, VISIT, 0.01)
    observer.close()
    server = next(span for span in spans(collector) if span.kind == Span.SPAN_KIND_SERVER)
    assert server.trace_id.hex() == TRACE
    assert server.parent_span_id.hex() == PARENT
    assert server.trace_state == ""  # text of the client's own
    assert json.loads(capsys.readouterr().err)["trace_id"] == TRACE
    assert not any(b"4711" in body for _, _, body in collector.got)


def test_a_client_that_does_not_sample_is_left_alone(collector: Any, url: str) -> None:
    unsampled = [(b"traceparent", f"00-{TRACE}-{PARENT}-00".encode())]
    broken = [(b"traceparent", b"\xff\x00 broken")]
    observe(url, (VISIT, {"headers": unsampled}), (VISIT, {"headers": broken}))
    server = [span for span in spans(collector) if span.kind == Span.SPAN_KIND_SERVER]
    assert len(server) == 1
    assert server[0].parent_span_id == b""


def test_failures_and_refusals_say_why(collector: Any, url: str) -> None:
    failed = Visit(id="a", endpoint="/predict", status=500, refused="failed")
    unnamed = Visit(id="b", endpoint="/predict", status=503)
    refused = Visit(id="c", endpoint="/predict", status=429, refused="budget", rows=9)
    observe(url, (failed, {}), (unnamed, {}), (refused, {}))
    found = {attributes(span)["dynaserve.request_id"]: span for span in spans(collector)}
    assert found["a"].status.code == found["b"].status.code == Status.STATUS_CODE_ERROR
    assert found["c"].status.code == Status.STATUS_CODE_UNSET
    assert attributes(found["a"])["error.type"] == "failed"
    assert attributes(found["b"])["error.type"] == "503"
    assert attributes(found["c"])["dynaserve.refused"] == "budget"
    assert "error.type" not in attributes(found["c"])


def test_what_was_asked_for_is_in_no_span(collector: Any, url: str) -> None:
    scope = {
        "method": "SECRET",
        "path": "/secret",
        "query_string": b"secret",
        "headers": [(b"authorization", b"secret"), (b"user-agent", b"secret")],
        "client": ("10.9.8.7", 1),
    }
    observe(url, (Visit(id="a", status=404), scope))
    (span,) = spans(collector)
    assert span.name == "_OTHER"
    assert "http.route" not in attributes(span)
    ((_, _, body),) = collector.got
    assert b"secret" not in body.lower()
    assert b"10.9.8.7" not in body


@pytest.mark.parametrize("suffix", ["", "/", "/v1/traces", "/v1/traces/"])
def test_base_url_or_full_one(collector: Any, url: str, suffix: str) -> None:
    observe(url + suffix, (VISIT, {}))
    assert len(spans(collector)) == 4


def test_the_standard_variable_names_the_collector(
    collector: Any, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    observe(None, (VISIT, {}))
    assert len(spans(collector)) == 4


def test_the_end_of_a_worker_does_not_wait_for_a_collector_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tracing, "CLOSE_SECONDS", 0.2)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "2")
    with socket.create_server(("127.0.0.1", 0)) as hung:
        hung.settimeout(30)
        observe(f"http://127.0.0.1:{hung.getsockname()[1]}", (VISIT, {}))  # returns
        connection, _ = hung.accept()
        with connection:
            senders = [each for each in threading.enumerate() if "Otel" in each.name]
            assert any(sender.is_alive() for sender in senders)
    for sender in senders:
        sender.join()
