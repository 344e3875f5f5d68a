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

TURN_SECONDS = 1.0
"""How long a request may wait for its turn."""
ASK_SECONDS = 2.0
"""How long the store may take for one."""
AT_ONCE = 16
"""Requests that ask at a time."""
REST_SECONDS = 1.0
"""After a failure the store is left alone for that long: no request waits for what is broken."""
MOST_WAITING = 1024
"""Requests that wait at a time."""


class ImpatientError(Exception):
    """The store was not asked: it has just failed, or too many wait for it, or one for too long."""


class Patience:
    """Asks a store, as long as that makes sense.

    After a failure one request alone asks again, when nobody waits any more; it goes on once that
    has an answer.
    """

    def __init__(self) -> None:
        self.waiting = 0
        self._turns = asyncio.Semaphore(AT_ONCE)
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
        if self.waiting >= self._most or self._rests():
            raise ImpatientError
        self.waiting += 1
        try:
            await self._turn()
            try:
                return await self._asked(ask)
            finally:
                self._turns.release()
        finally:
            self.waiting -= 1

    def _rests(self) -> bool:
        return time.monotonic() < self._rests_until

    async def _turn(self) -> None:
        """Wait for a turn; that there are many before it says nothing against the store."""
        try:
            await in_seconds(TURN_SECONDS, self._turns.acquire)
        except asyncio.TimeoutError:  # TimeoutError itself from Python 3.11 on
            raise ImpatientError from None
        if self._rests():  # it has failed meanwhile
            self._turns.release()
            raise ImpatientError

    async def _asked(self, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            found = await in_seconds(ASK_SECONDS, ask)
        except Exception:
            self._rests_until = time.monotonic() + REST_SECONDS
            self._most = 1
            raise
        self._most = MOST_WAITING
        return found


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
