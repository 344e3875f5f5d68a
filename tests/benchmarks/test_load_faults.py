"""A server that ends badly is found out, and one that ends well is not."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import load_faults, load_servers
from benchmarks.load_connections import Outcome
from benchmarks.processes import Command, Running, Server, running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's tcp_info")

# Answers after 20 ms. Asked to end, it ends at once (rude), or after what it has read (polite).
SERVER = """
import os, signal, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        if ending.is_set():
            self.send_header("Connection", "close")
        self.end_headers()
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.02)
        self.do_GET()
    def log_message(self, *_):
        pass
ending = threading.Event()
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
server.daemon_threads = False
def end(*_):
    if sys.argv[2] == "rude":
        os._exit(0)
    ending.set()
    threading.Thread(target=server.shutdown).start()
signal.signal(signal.SIGTERM, end)
server.serve_forever()
server.server_close()
"""

# Workers that share a socket, and a supervisor that puts another one in the place of each.
SUPERVISED = """
import os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    do_POST = do_GET
    def log_message(self, *_):
        pass
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
def begin():
    if not os.fork():
        server.serve_forever()
begin()
begin()
while True:
    os.wait()
    begin()
"""


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Put a program with its arguments in the place of the defended server."""
    program: list[str] = []

    @contextmanager
    def defended(*workers: int) -> Iterator[list[Running]]:
        server = Server(
            lambda port, _: Command([sys.executable, "-c", program[0], str(port), *program[1:]], {})
        )
        with running({str(count): server for count in workers}, tmp_path) as up:
            yield list(up.values())

    monkeypatch.setattr(load_faults, "defended", defended)
    monkeypatch.setattr(load_faults, "BEFORE_SECONDS", 0.3)
    monkeypatch.setattr(load_faults, "END_SECONDS", 20.0)
    return program


def test_requests_that_were_read_and_not_answered_are_lost(
    served: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    served += [SERVER, "rude"]
    found = load_faults.shutdown(Console(width=300), times=1, workers=1)
    assert found["outcomes"]["answered"] > 0
    assert 0 < found["outcomes"]["read, not answered"] <= load_faults.CLIENTS
    assert found["failed"]
    assert "read, not answered: " in capsys.readouterr().out


def test_a_server_that_answers_what_it_has_read_loses_nothing(served: list[str]) -> None:
    served += [SERVER, "polite"]
    found = load_faults.shutdown(Console(width=300), times=1, workers=1)
    assert found["outcomes"]["answered"] > 0
    assert found["outcomes"]["read, not answered"] == 0
    assert not found["failed"]


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_killed_worker_may_cost_each_client_one_request(outcome: Outcome) -> None:
    free = {Outcome.ANSWERED}
    one_each = {Outcome.LOST, Outcome.UNREAD, Outcome.NEVER_ACCEPTED, Outcome.LATE}
    for count in (1, 16, 17):
        allowed = outcome in free or (outcome in one_each and count <= 16)
        assert load_faults.is_bad_end(Counter({outcome: count}), times=2) is not allowed
    mixed = Counter({Outcome.LOST: 9, Outcome.LATE: 8, Outcome.ANSWERED: 900})
    assert load_faults.is_bad_end(mixed, times=2)


def test_a_server_that_does_not_end_is_an_error(
    served: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served += [SERVER.replace('sys.argv[2] == "rude"', "True").replace("os._exit(0)", "return")]
    monkeypatch.setattr(load_faults, "END_SECONDS", 0.5)
    monkeypatch.setattr("benchmarks.processes.STOP_SECONDS", 0.1)
    with pytest.raises(RuntimeError, match=r"no end in \d+ seconds"):
        load_faults.shutdown(Console(), times=1, workers=1)


def test_a_killed_worker_is_replaced_by_one_that_answers(
    served: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    served += [SUPERVISED]
    found = load_faults.kill(Console(width=300), times=1)
    ((started, answered),) = found["recoveries"]
    assert 0 <= started <= answered
    assert found["outcomes"]["answered"] > 0
    assert not found["failed"]
    assert "kill -9, JSON: another worker is started after" in capsys.readouterr().out


def test_a_worker_that_stays_away_is_an_error(
    served: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served += [SUPERVISED.replace("os.wait()\n    begin()", "import time; time.sleep(1)")]
    monkeypatch.setattr(load_faults, "END_SECONDS", 0.5)
    with pytest.raises(RuntimeError, match="no other worker"):
        load_faults.kill(Console(), times=1)


def test_only_what_happened_is_said() -> None:
    seen = Counter({Outcome.ANSWERED: 3, Outcome.UNREAD: 1, Outcome.LOST: 0})
    assert load_faults.words(seen) == "answered: 3, reset unread on a kept connection: 1"


def test_workers_are_those_that_listen(tmp_path: Path) -> None:
    server = Server(lambda port, *_: Command([sys.executable, "-c", SUPERVISED, str(port)], {}))
    with running({"one": server}, tmp_path) as up:
        workers = load_servers.workers_of(up["one"])
        assert len(workers) == 2
        assert up["one"].process.pid not in {worker.pid for worker in workers}
        assert load_servers.resident_bytes(workers) > 2**20
        assert [load_servers.clients_of(worker) for worker in workers] == [0, 0]
