"""Ports for servers that are started by their number."""

from __future__ import annotations

import itertools
import os
import socket
from contextlib import suppress

FIRST, COUNT = 20_000, 12_000
"""Systems give connections, and whoever asks for any port, those from 32,768 on."""

_NUMBERS = itertools.count(os.getpid() * 97)


def free_port() -> int:
    """Return a port that this process is given once, and that no connection gets meanwhile.

    Another process that asks at the same time most probably gets another one.
    """
    for _ in range(COUNT):
        port = FIRST + next(_NUMBERS) % COUNT
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no port is free")
