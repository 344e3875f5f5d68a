"""DynaServe on loopback and keep-alive clients of it, for ``service.py``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.processes import dynaserve, running


@contextmanager
def serving(servers: Mapping[str, list[str]], directory: Path) -> Iterator[dict[str, int]]:
    """Run ``dynaserve serve`` for each name with its arguments; yield name -> port.

    Raises
    ------
    RuntimeError
        A server does not get ready; the message holds what it said.
    """
    started = {name: dynaserve(arguments) for name, arguments in servers.items()}
    with running(started, directory) as up:
        yield {name: server.port for name, server in up.items()}


class Block(NamedTuple):
    """What one block of requests took."""

    latencies: NDArray[np.float64]
    """Seconds of each request, (clients * requests,)."""
    seconds: float
    """Of all of them together."""


class Request(NamedTuple):
    """What is posted."""

    path: str
    body: bytes
    headers: dict[str, str]


class Clients:
    """Keep-alive clients of one server, each on its own thread, that send one request."""

    def __init__(self, port: int, request: Request, count: int) -> None:
        self._request = request
        self._connections = [HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(count)]
        self._threads = ThreadPoolExecutor(count)

    def answer(self) -> bytes:
        """Return the body of one answer.

        Raises
        ------
        RuntimeError
            The server refused the request.
        """
        return self._send(self._connections[0])

    def block(self, requests: int) -> Block:
        """Let every client send so many requests, one after the other."""
        start = perf_counter()
        taken = self._threads.map(lambda client: self._loop(client, requests), self._connections)
        latencies = np.concatenate(list(taken))
        return Block(latencies, perf_counter() - start)

    def close(self) -> None:
        """Close every connection."""
        self._threads.shutdown()
        for connection in self._connections:
            connection.close()

    def _loop(self, connection: HTTPConnection, requests: int) -> NDArray[np.float64]:
        latencies = np.empty(requests)
        for i in range(requests):
            start = perf_counter()
            self._send(connection)
            latencies[i] = perf_counter() - start
        return latencies

    def _send(self, connection: HTTPConnection) -> bytes:
        connection.request("POST", *self._request)
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise RuntimeError(f"status {response.status} instead of 200")
        return body
