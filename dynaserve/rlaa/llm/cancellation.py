"""Stopping a run from outside: an event that whoever waits may set, seen wherever a model works.

It travels with the context of the call, so that no role has to hand it on. It stops nothing by
itself: a backend asks, for every token.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dynaserve.rlaa.llm.protocol import LLMError

_events: ContextVar[tuple[threading.Event, ...]] = ContextVar("cancellation", default=())


class CancelledError(LLMError):
    """Whoever asked no longer waits for the answer."""


@contextmanager
def cancellable(event: threading.Event) -> Iterator[None]:
    """Let ``event``, once set, end what is asked of a model inside; one around it still counts."""
    token = _events.set((*_events.get(), event))
    try:
        yield
    finally:
        _events.reset(token)


def is_cancelled() -> bool:
    """Return whether the answer is no longer waited for; False outside of `cancellable`."""
    return any(event.is_set() for event in _events.get())


def check_cancelled() -> None:
    """Go on only if the answer is still waited for.

    Raises
    ------
    CancelledError
        If it is not.
    """
    if is_cancelled():
        raise CancelledError("cancelled")
