"""Servers as processes on loopback: each started by the command that a user types.

Knows how to start, await and end them; what they serve, and what they are asked, is for others.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.ports import free_port

DYNASERVE = Path(sys.executable).with_name("dynaserve")
START_SECONDS = 120
STOP_SECONDS = 20
# A second thread would race the client for the second core.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Command(NamedTuple):
    """What is started."""

    arguments: list[str]
    environment: dict[str, str]
    """Beside that of this process."""


class Server(NamedTuple):
    """One way to serve."""

    command: Callable[[int, Path], Command]
    """From a port and a directory for its files."""
    ready: str = "/readyz"
    """Answers 200 once requests are taken."""


class Running(NamedTuple):
    """A server that is ready."""

    port: int
    process: subprocess.Popen[bytes]


def dynaserve(arguments: list[str]) -> Server:
    """Return ``dynaserve serve`` with its arguments."""

    def command(port: int, directory: Path) -> Command:
        environment = {
            "DYNASERVE_STATE_DIR": str(directory / "state"),
            "BENTOML_HOME": str(directory / "bentoml"),
        }
        return Command([str(DYNASERVE), "serve", *arguments, "--port", str(port)], environment)

    return Server(command)


@contextmanager
def running(servers: Mapping[str, Server], directory: Path) -> Iterator[dict[str, Running]]:
    """Start every server, yield each by its name once all are ready, and end them.

    Each is the head of a process group of its own, logs to ``directory / NAME.log`` and computes
    on one thread.

    Raises
    ------
    RuntimeError
        A server does not get ready; the message holds what it said.
    """
    with ExitStack() as stack:
        started: dict[str, Running] = {}
        stack.callback(_stop, started)
        for name, server in servers.items():
            started[name] = _start(server, directory, _log(directory, name))
        for name, server in servers.items():
            _wait_until_ready(name, started[name], server.ready, _log(directory, name))
        yield started


def clean_up_on_sigterm() -> None:
    """Have a SIGTERM end this process the orderly way, so that its servers end too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def _log(directory: Path, name: str) -> Path:
    return directory / f"{name}.log"


def _start(server: Server, directory: Path, log: Path) -> Running:
    port = free_port()
    command = server.command(port, directory)
    with log.open("wb") as output:
        process = subprocess.Popen(
            command.arguments,
            env=os.environ | ONE_THREAD | command.environment,
            cwd=directory,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return Running(port, process)


def _wait_until_ready(name: str, server: Running, path: str, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while not is_ready(server.port, path):
        if server.process.poll() is not None or time.monotonic() > end:
            said = log.read_text(errors="replace")
            raise RuntimeError(f"the server {name!r} did not get ready:\n{said}")
        time.sleep(0.1)


def is_ready(port: int, path: str = "/readyz") -> bool:
    """Say whether a server answers 200 there."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:  # refused, reset, late, or another status
        return False


def _stop(servers: Mapping[str, Running]) -> None:
    """End servers and their workers."""
    for server in servers.values():
        _signal(server.process, signal.SIGTERM)
    for server in servers.values():
        with suppress(subprocess.TimeoutExpired):
            server.process.wait(timeout=STOP_SECONDS)
        _signal(server.process, signal.SIGKILL)
        server.process.wait()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
