"""Work of a model, one piece at a time, that a deadline or a client who left really stops.

Starting, stopping and counting is all that happens here: what the work is, is for others. A piece
that was stopped gives nothing, even if it got done.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from dynaserve.serving.refused import BusyError, LateError

T = TypeVar("T")


class GoneError(Exception):
    """Nobody waits for the work any more; it was stopped."""


class Workbench:
    """One thread, with a bounded queue before it.

    Parameters
    ----------
    max_pending
        Pieces of work at a time, the one that is worked on included.
    seconds
        How long a piece may take, its wait included.
    """

    def __init__(self, max_pending: int, seconds: float) -> None:
        self.max_pending, self.seconds = max_pending, seconds
        self._thread = ThreadPoolExecutor(1, "workbench")
        self._pending = 0
        self._last = 1.0
        """Seconds that the latest piece took."""

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Have something done before all that comes later, uncounted: load the model."""
        return self._thread.submit(work)

    def require_room(self) -> None:
        """Raise a `BusyError` if there is as much work as may be."""
        if self._pending >= self.max_pending:
            raise BusyError(
                f"as many requests wait as may ({self.max_pending}); come back later",
                math.ceil(min(self._pending * self._last, self.seconds)),
            )

    async def do(self, work: Callable[[threading.Event], T], gone: Coroutine[Any, Any, None]) -> T:
        """Return what comes of ``work``.

        Parameters
        ----------
        work
            Gets an event, and is to end soon once it is set. Until it has ended it counts.
        gone
            Comes to an end when nobody waits for the result any more.

        Raises
        ------
        BusyError
            Nothing was begun.
        LateError, GoneError
            The event was set, and the result will be dropped.
        """
        try:
            self.require_room()
        except BusyError:
            gone.close()
            raise
        stop = threading.Event()
        done = self._begin(work, stop)
        left = asyncio.create_task(gone)
        ends: list[asyncio.Future[Any]] = [done, left]
        try:
            await asyncio.wait(ends, timeout=self.seconds, return_when=asyncio.FIRST_COMPLETED)
            if done.done():
                return done.result()
            if left.done():
                raise GoneError
            raise LateError(f"not done in {self.seconds:g} seconds; send shorter texts, or fewer")
        finally:  # also when the server gives up on the request
            stop.set()
            done.cancel()  # if it has not begun; a thread itself cannot be cancelled
            left.cancel()

    def _begin(
        self, work: Callable[[threading.Event], T], stop: threading.Event
    ) -> asyncio.Future[T]:
        def timed() -> T:
            begun = time.monotonic()
            try:
                return work(stop)
            finally:
                self._last = time.monotonic() - begun

        loop = asyncio.get_running_loop()
        running = self._thread.submit(timed)
        self._pending += 1

        def count(_: Future[T]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._ended)

        running.add_done_callback(count)
        return asyncio.wrap_future(running)

    def _ended(self) -> None:
        self._pending -= 1
