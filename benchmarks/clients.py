"""Keep-alive clients of a server on loopback, which time what they ask.

What a client itself takes counts as the server's time, so these do little: they send bytes that
were made before, and read into memory that they have. A client of Python's ``http.client`` needs
about as long for a request as a fast server does.
"""

from __future__ import annotations

import re
import socket
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

HOST = "127.0.0.1"
TIMEOUT_SECONDS = 60.0
ROOM_BYTES = 1 << 16
"""For an answer, at first."""
END_OF_HEAD = b"\r\n\r\n"
OK = b" 200"
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n", re.IGNORECASE)


class Request(NamedTuple):
    """What is posted."""

    path: str
    body: bytes
    headers: dict[str, str]

    def message(self) -> bytes:
        """Return it as it goes over the wire."""
        headers = {"Host": HOST, "Content-Length": str(len(self.body)), **self.headers}
        lines = [f"POST {self.path} HTTP/1.1", *(f"{key}: {headers[key]}" for key in headers)]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


class Block(NamedTuple):
    """What one block of requests took."""

    latencies: NDArray[np.float64]
    """Seconds of each request, (clients * requests,)."""
    seconds: float
    """Of all of them together."""


class Client:
    """A kept connection on which one request is sent again and again."""

    def __init__(self, port: int, request: Request) -> None:
        self._message = request.message()
        self._room = bytearray(ROOM_BYTES)
        self._socket = socket.create_connection((HOST, port), TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self) -> memoryview:
        """Send the request and return the body of the answer, which the next one overwrites.

        Raises
        ------
        RuntimeError
            The server refused the request, or does not say how long its answer is.
        OSError
            The connection is closed, or nothing comes.
        """
        self._socket.sendall(self._message)
        taken, start = 0, -1
        while start < 0:
            taken = self._receive(taken, len(self._room))
            start = self._room.find(END_OF_HEAD, 0, taken)
        start += len(END_OF_HEAD)
        end = start + _length_of(bytes(self._room[:start]))
        if end > len(self._room):
            self._room = self._room[:taken] + bytes(end - taken)
        while taken < end:
            taken = self._receive(taken, end)
        return memoryview(self._room)[start:end]

    def _receive(self, start: int, end: int) -> int:
        """Read into the room between two places, and return how far it is filled."""
        with memoryview(self._room) as room:
            count = self._socket.recv_into(room[start:end])
        if not count:
            raise ConnectionError("the server closed the connection, or its answer has no end")
        return start + count

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def _length_of(head: bytes) -> int:
    """Return how many bytes follow the head of an answer."""
    status = head.split(b"\r\n", 1)[0]
    if status[8:12] != OK:
        raise RuntimeError(f"status {status[9:12].decode('latin-1')} instead of 200")
    if not (length := LENGTH.search(head)):
        raise RuntimeError("an answer without Content-Length")
    return int(length[1])


class Clients:
    """Clients of one server, each on its own thread, that send one request."""

    def __init__(self, port: int, request: Request, count: int) -> None:
        self._clients = [Client(port, request) for _ in range(count)]
        self._threads = ThreadPoolExecutor(count)

    def answer(self) -> bytes:
        """Return the body of one answer.

        Raises
        ------
        RuntimeError
            The server refused the request.
        """
        return bytes(self._clients[0].send())

    def block(self, requests: int) -> Block:
        """Let every client send so many requests, one after the other."""
        start = perf_counter()
        latencies = np.concatenate(
            list(self._threads.map(lambda client: _timed(client, requests), self._clients))
        )
        return Block(latencies, perf_counter() - start)

    def close(self) -> None:
        """Close every connection."""
        self._threads.shutdown()
        for client in self._clients:
            client.close()


def _timed(client: Client, requests: int) -> NDArray[np.float64]:
    latencies = np.empty(requests)
    for i in range(requests):
        start = perf_counter()
        client.send()
        latencies[i] = perf_counter() - start
    return latencies
