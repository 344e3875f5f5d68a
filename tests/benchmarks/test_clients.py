"""Clients that keep their connections, and take nothing for an answer that is none."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import numpy as np
import pytest

from benchmarks.clients import ROOM_BYTES, Client, Clients, Request

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


ENDS = [
    pytest.param(b"HTTP/1.1 200 OK\r\n", ConnectionError, "closed the connection", id="no head"),
    pytest.param(
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbody",
        ConnectionError,
        "closed the connection",
        id="half a body",
    ),
    pytest.param(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nx-content-length: 4\r\n\r\n4\r\nbody",
        RuntimeError,
        "without Content-Length",
        id="no length",
    ),
    pytest.param(
        b"HTTP/1.1 503 200 Busy\r\nx: 200\r\nContent-Length: 0\r\n\r\n",
        RuntimeError,
        "status 503",
        id="refused",
    ),
    pytest.param(
        b"HTTP/1.1 200 OK\r\nx: " + ROOM_BYTES * b"x", ConnectionError, "no end", id="long head"
    ),
]


@contextmanager
def said(*parts: bytes) -> Iterator[int]:
    """Have a server say something in parts to whoever asks, and hang up; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            with suppress(OSError), listener.accept()[0] as client:
                client.recv(65536)
                for part in parts:
                    client.sendall(part)

        thread = Thread(target=answer)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(("answer", "error", "told"), ENDS)
def test_what_is_no_whole_answer_is_no_measurement(
    answer: bytes, error: type[Exception], told: str
) -> None:
    with (
        said(answer) as port,
        closing(Client(port, REQUEST)) as client,
        pytest.raises(error, match=told),
    ):
        client.send()


def test_an_answer_may_come_in_parts_and_be_large() -> None:
    body = np.random.default_rng(0).bytes(3 * ROOM_BYTES)
    whole = b"HTTP/1.1 200 OK\r\ncontent-length:%d\r\n\r\n" % len(body) + body
    with (
        said(whole[:20], whole[20:50], whole[50:]) as port,
        closing(Client(port, REQUEST)) as client,
    ):
        assert client.send() == body
