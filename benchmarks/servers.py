"""Server processes and keep-alive clients on loopback, for ``service.py``.

A server is started by the command that a user types, with one worker, in a directory of its own.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

COMMAND = Path(sys.executable).with_name("dynaserve")
START_SECONDS = 120


@contextmanager
def serving(servers: Mapping[str, list[str]], directory: Path) -> Iterator[dict[str, int]]:
    """Run ``dynaserve serve`` for each name with its arguments; yield name -> port.

    Raises
    ------
    RuntimeError
        A server does not get ready; the message holds what it said.
    """
    ports = {name: _free_port() for name in servers}
    with ExitStack() as stack:
        processes = {
            name: _start(arguments, ports[name], directory / f"{name}.log", directory)
            for name, arguments in servers.items()
        }
        stack.callback(_stop, list(processes.values()))
        for name, process in processes.items():
            _wait_until_ready(name, process, ports[name], directory / f"{name}.log")
        yield ports


def _start(arguments: list[str], port: int, log: Path, directory: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {
        "DYNASERVE_STATE_DIR": str(directory / "state"),
        "BENTOML_HOME": str(directory / "bentoml"),
        # A second thread would race the client for the second core.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [str(COMMAND), "serve", *arguments, "--port", str(port)]
    with log.open("wb") as output:
        return subprocess.Popen(
            command, env=environment, stdout=output, stderr=output, start_new_session=True
        )


def _wait_until_ready(name: str, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while not _is_ready(port):
        if process.poll() is not None or time.monotonic() > end:
            said = log.read_text(errors="replace")
            raise RuntimeError(f"the server {name!r} did not get ready:\n{said}")
        time.sleep(0.1)


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    """End servers and their workers; each server with its workers is a process group."""
    for process in processes:
        _signal(process, signal.SIGTERM)
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
