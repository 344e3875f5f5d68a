"""Clients that keep their connections, and servers that say why they do not start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from benchmarks.servers import Clients, Request, serving

REQUEST = Request("/here", b"body", {"x-asked": "so"})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    peers: list[Any]
    status = 200

    def do_POST(self) -> None:
        assert (self.path, self.headers["x-asked"]) == (REQUEST.path, "so")
        self.peers.append(self.client_address)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    Handler.peers, Handler.status = [], 200
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_every_client_keeps_one_connection(server: ThreadingHTTPServer) -> None:
    with closing(Clients(server.server_port, REQUEST, 3)) as clients:
        assert clients.answer() == b"body"
        block = clients.block(4)
    assert block.latencies.shape == (12,)
    assert 0 < block.latencies.max() <= block.seconds
    assert len(Handler.peers) == 13
    assert len(set(Handler.peers)) == 3


def test_a_refused_request_is_no_measurement(server: ThreadingHTTPServer) -> None:
    Handler.status = 400
    with (
        closing(Clients(server.server_port, REQUEST, 1)) as clients,
        pytest.raises(RuntimeError, match="status 400"),
    ):
        clients.block(1)


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match=r"'a' did not get ready:(.|\n)*no defense has that name"),
        serving({"a": ["--defense", "nonsense"]}, tmp_path),
    ):
        pass
