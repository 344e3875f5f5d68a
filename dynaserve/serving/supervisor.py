"""BentoML's supervisor, made to end without losing anybody, and to keep its workers.

It closes the socket on which all workers accept only when they have ended, so that who connects
while a service stops waits for nobody, and is reset. And in a container it does not replace a
worker that was killed. Both are settled here, in the supervisor, before it starts the workers.
"""

from __future__ import annotations

import functools
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import bentoml.serving
from bentoml._internal.utils.circus import Arbiter


def settle() -> None:
    """Have the supervisor that this process becomes do so; once is enough."""
    # Whether it replaces workers depends on this alone.
    bentoml.serving.running_inside_container = lambda: False  # type: ignore[assignment]
    if not hasattr(Arbiter.stop, "__wrapped__"):
        Arbiter.stop = refusing_first(Arbiter.stop)  # type: ignore[assignment, method-assign]


def refusing_first(stop: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what refuses new connections, those of all workers, and then does ``stop``."""

    @functools.wraps(stop)
    def stopped(arbiter: Any) -> Any:
        for listening in arbiter.sockets.values():
            with suppress(OSError):  # closed already
                listening.shutdown(socket.SHUT_RDWR)
        return stop(arbiter)

    return stopped
