"""How long requests wait for a store, and how many of them: a slow one may hold up only so much.

It knows nothing of what is asked, and refuses in no words of its own.
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

TAKE_SECONDS = 2.0
"""How long a request may wait in all."""
REST_SECONDS = 1.0
"""After a failure the store is left alone for that long: no request waits for what is broken."""
MOST_WAITING = 1024
"""Requests that wait at a time."""


class ImpatientError(Exception):
    """The store was not asked: it has just failed, or too many wait for it."""


class Patience:
    """Asks a store, as long as that makes sense.

    After a failure one request alone asks again, when nobody waits any more; it goes on once that
    has an answer.
    """

    def __init__(self) -> None:
        self.waiting = 0
        self._most = MOST_WAITING
        self._rests_until = -math.inf

    async def __call__(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Return what the store says.

        Raises
        ------
        ImpatientError
            It was not asked.
        Exception
            What it raises, or TimeoutError. It may have counted all the same.
        """
        if self.waiting >= self._most or time.monotonic() < self._rests_until:
            raise ImpatientError
        self.waiting += 1
        try:
            found = await in_seconds(TAKE_SECONDS, ask)
        except Exception:
            self._rests_until = time.monotonic() + REST_SECONDS
            self._most = 1
            raise
        else:
            self._most = MOST_WAITING
            return found
        finally:
            self.waiting -= 1


# A connection goes back to its pool after a cancellation, for which it may have to wait: with
# anyio, which cancels again and again, it would be lost.
if sys.version_info >= (3, 11):

    async def in_seconds(seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
        """Return what ``ask`` does, or raise a TimeoutError."""
        async with asyncio.timeout(seconds):
            return await ask()

else:

    async def in_seconds(seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
        """Return what ``ask`` does, or raise a TimeoutError; on a task of its own."""
        return await asyncio.wait_for(ask(), seconds)
