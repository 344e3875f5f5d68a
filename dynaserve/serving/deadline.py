"""A time at which work ends, which may move as often as it likes.

anyio's own scope sets a timer for each new deadline. A request has half a dozen of them, most later
than the one before: here the timer then stays where it is, and looks again when it has rung.
"""

from __future__ import annotations

import asyncio
import math
from types import TracebackType

import anyio
from typing_extensions import Self

TICK_SECONDS = 1e-3
"""uvloop's clock has no finer ones: an alarm may ring that much before its time."""


class Deadline:
    """A context manager whose work is cancelled once its time has come, or by `cancel`.

    Parameters
    ----------
    at : float
        By the event loop's clock.
    """

    def __init__(self, at: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._scope = anyio.CancelScope()
        self._alarm: asyncio.TimerHandle | None = None
        self._at = at
        self._left: float | None = None
        self._rings = math.inf

    def __enter__(self) -> Self:
        self._scope.__enter__()
        self.move(self._at)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trail: TracebackType | None,
    ) -> bool | None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._rings = -math.inf  # nothing is before it, so that nothing rings any more
        return self._scope.__exit__(kind, error, trail)

    @property
    def caught(self) -> bool:
        """Whether the work was cancelled, once it has ended."""
        return self._scope.cancelled_caught

    def cancel(self) -> None:
        """End the work now."""
        self._scope.cancel()

    def stop(self) -> None:
        """Have time stand still until `resume`."""
        if self._left is None:
            self._left, self._at = self._at - self._loop.time(), math.inf

    def resume(self) -> None:
        """Leave the time that was left."""
        if self._left is not None:
            at, self._left = self._loop.time() + self._left, None
            self.move(at)

    def move(self, at: float) -> None:
        """Set another time."""
        self._at = at
        if at < self._rings:
            if self._alarm is not None:
                self._alarm.cancel()
            self._rings = at
            self._alarm = self._loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._rings = math.inf
        if self._at - self._loop.time() < TICK_SECONDS:
            self._scope.cancel()
        else:
            self.move(self._at)
