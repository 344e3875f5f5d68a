"""Real servers on loopback: started once per session, each with what it needs, always stopped."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import psutil
import pytest
from sklearn.datasets import load_digits

from benchmarks.ports import free_port
from dynaserve.serving.settings import ServeSettings

CLASSIFIER = "dynaserve.serving.classifier:Classifier"
ODD = "tests.e2e.odd_anonymizer:Anonymizer"
ODD_LIMITS = {
    "DYNASERVE_SECONDS": "3",
    "DYNASERVE_BODY_SECONDS": "3",
    "DYNASERVE_MAX_PENDING": "3",
    "DYNASERVE_MAX_CHARACTERS": "200000",
}
START_SECONDS = 120
MAX_ROWS = 2000


@dataclass
class Server:
    """A ``bentoml serve`` process with all its workers."""

    target: str
    environment: dict[str, str]
    log: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "bentoml", "serve", self.target, "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                env=os.environ | self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            if self.ready():
                return
            time.sleep(0.1)
        self.stop()
        raise AssertionError(f"the server did not get ready:\n{self.logged()}")

    def ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def stop(self) -> None:
        """End the server and its workers, which may be process groups of their own."""
        if self.process is None:
            return
        children: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(self.process.pid).children(recursive=True)
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(timeout=20)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None
        # One that outlives its server would answer in the place of the next.
        for child in psutil.wait_procs(children, timeout=20)[1]:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(children)

    def restart(self) -> None:
        self.stop()
        self.start()

    def workers(self) -> list[psutil.Process]:
        """Return the processes that answer requests."""
        assert self.process is not None
        found = []
        for child in psutil.Process(self.process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # it has ended, if perhaps nobody has noticed
                if "_bentoml_impl.worker.service" in child.cmdline():
                    found.append(child)
        return found

    def predict(self, inputs: Any, client: httpx.Client | None = None) -> httpx.Response:
        post = httpx.post if client is None else client.post
        return post(f"{self.url}/predict", json={"inputs": inputs}, timeout=60)

    def logged(self) -> str:
        return self.log.read_text(errors="replace")

    def kept_open(self) -> list[httpx.Client]:
        """Return clients whose open connections reach every worker, once all have started."""
        clients: list[httpx.Client] = []
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            # Workers share one socket: a busy one leaves connections to the others.
            fresh = [httpx.Client() for _ in range(8)]
            clients += fresh
            with ThreadPoolExecutor(len(fresh)) as pool:
                list(pool.map(lambda client: self.predict([[0.0] * 64] * 500, client), fresh))
            if all(self.connections(worker) for worker in self.workers()):
                return clients
            time.sleep(min(0.01 * len(clients), 1))  # one that starts takes none yet
        raise AssertionError("some worker never took a connection")

    def connections(self, worker: psutil.Process) -> int:
        return sum(
            connection.status == "ESTABLISHED" and connection.laddr.port == self.port
            for connection in worker.net_connections("tcp")
        )


@pytest.fixture(scope="session", autouse=True)
def certificates_are_read_once() -> Iterator[None]:
    """Spare each client of httpx 50 ms: reading who vouches for TLS, which loopback does not use.

    It would be half of what a core can do, while `Server.start` asks whether the server is ready.
    """
    with mock.patch("ssl.create_default_context", cache(ssl.create_default_context)):
        yield


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables that all servers of the session share: one machine, one state directory."""
    return {
        "BENTOML_DO_NOT_TRACK": "1",
        "DYNASERVE_STATE_DIR": str(tmp_path_factory.mktemp("state")),
    }


@pytest.fixture(scope="session")
def serve(
    tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]
) -> Iterator[Callable[..., Server]]:
    """Start a server, or return the one already running with the same settings."""
    started: dict[Any, Server] = {}
    with ExitStack() as stack:

        def serve(
            target: str = CLASSIFIER, variables: Mapping[str, str] | None = None, **settings: Any
        ) -> Server:
            told = ServeSettings(**({"max_rows": MAX_ROWS} | settings)).to_environment()
            told |= variables or {}
            asked = (target, *told.items())
            if asked not in started:
                home = tmp_path_factory.mktemp("bentoml")
                told |= environment | {"BENTOML_HOME": str(home)}
                server = Server(target, told, home / "log")
                stack.callback(server.stop)
                server.start()
                started[asked] = server
            return started[asked]

        yield serve


@pytest.fixture
def odd(serve: Callable[..., Server]) -> Server:
    """Return the anonymizer that does otherwise for some words, with nothing noted yet."""
    server = serve(ODD, ODD_LIMITS)
    for note in Path(server.environment["DYNASERVE_STATE_DIR"]).glob("odd-*"):
        note.unlink()
    return server


@pytest.fixture(scope="session")
def digits() -> list[list[float]]:
    """All rows of the digits data, (1797, 64)."""
    return [[float(value) for value in row] for row in load_digits().data]
