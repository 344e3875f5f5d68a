"""The defended server that is put under load, and its worker processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from benchmarks import service
from benchmarks.clients import Request
from benchmarks.processes import Running, dynaserve, running
from benchmarks.routes import ROUTES

ROWS = 1


def request(route: str) -> Request:
    """Return a request of one row to the embedded model."""
    return ROUTES[route].request(service.requested_rows(ROWS), service.EMBEDDED)


@contextmanager
def defended(*workers: int) -> Iterator[list[Running]]:
    """Run a defended server for each number of workers."""
    servers = {
        f"{number}-{count}": dynaserve(["--defense", "dynanoise", "--workers", str(count)])
        for number, count in enumerate(workers)
    }
    with TemporaryDirectory() as directory, running(servers, Path(directory)) as up:
        yield list(up.values())


def workers_of(server: Running) -> list[psutil.Process]:
    """Return the processes below the server's own that take its connections."""
    below = psutil.Process(server.process.pid).children(recursive=True)
    return [
        process
        for process in below
        if any(
            each.status == psutil.CONN_LISTEN and each.laddr.port == server.port
            for each in _connections(process)
        )
    ]


def clients_of(worker: psutil.Process) -> int:
    """Return the number of a worker's open connections."""
    return sum(bool(each.raddr) for each in _connections(worker))


def is_connected(worker: psutil.Process, client_port: int) -> bool:
    """Say whether a worker has the connection whose other end is this port."""
    return any(each.raddr and each.raddr.port == client_port for each in _connections(worker))


def _connections(process: psutil.Process) -> list[Any]:
    with suppress(psutil.Error):  # it may just have ended
        return list(process.net_connections("tcp"))
    return []


def resident_bytes(workers: list[psutil.Process]) -> int:
    """Return the resident memory of all workers together."""
    return sum(worker.memory_info().rss for worker in workers)
