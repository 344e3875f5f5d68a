"""wrk posts what it is told to, and its report is read."""

from __future__ import annotations

import shutil
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from benchmarks import load_wrk
from benchmarks.clients import Request

REQUEST = Request("/here", bytes(range(256)), {"X-Asked": 'so "quoted"'})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: Counter[bool]
    status = 200

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen[(self.path, body, {"X-Asked": self.headers["X-Asked"]}) == REQUEST] += 1
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.skipif(shutil.which("wrk") is None, reason="needs wrk")
@pytest.mark.parametrize("status", [200, 503])
def test_every_request_arrives_as_it_was_given(status: int) -> None:
    Handler.seen, Handler.status = Counter(), status
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever)
        thread.start()
        found = load_wrk.load(server.server_port, REQUEST, connections=2, seconds=1)
        server.shutdown()
        thread.join()
    assert Handler.seen[True] >= found.requests > 0
    assert Handler.seen[False] == 0
    assert found.errors["status"] == (found.requests if status == 503 else 0)
    assert found.latencies.shape == (load_wrk.QUANTILES,)
    assert (np.diff(found.latencies) >= 0).all()
    assert 0 < found.p50_ms <= found.p99_ms
    assert found.per_second == found.requests / found.seconds


def test_the_report_is_the_last_thing_that_wrk_prints() -> None:
    found = load_wrk.read_report(
        "Running 1s test\n  2 threads\n"
        'report: {"requests": 300, "microseconds": 2000000, "quantiles": [500.0, 1500.0, 9000.0], '
        '"errors": [1, 2, 3, 4, 5]}\n'
    )
    assert found.per_second == 150
    assert found.latencies.tolist() == [5e-4, 1.5e-3, 9e-3]
    assert (found.p50_ms, round(found.p99_ms, 2)) == (1.5, 9.0)
    assert found.errors == {"connect": 1, "read": 2, "write": 3, "status": 4, "timeout": 5}


def test_without_wrk_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(load_wrk.MissingError, match="apt-get install wrk"):
        load_wrk.load(1, REQUEST, connections=1, seconds=1)


def test_a_failing_wrk_is_no_measurement(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "wrk"
    program.write_text("#!/bin/sh\necho out of sockets >&2; exit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(RuntimeError, match="out of sockets"):
        load_wrk.load(1, REQUEST, connections=1, seconds=1)
