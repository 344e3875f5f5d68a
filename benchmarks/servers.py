"""DynaServe on loopback, for ``service.py``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

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
