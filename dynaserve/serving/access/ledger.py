"""What each client has used: requests now and then, rows in a day, and whether there are more.

A counter that cannot be read or written refuses: a limit that only holds while all is well is
none. Nothing is given back, also not when the model fails afterwards.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import time
from functools import partial
from typing import cast

from limits import RateLimitItemPerSecond
from limits.aio.storage import SlidingWindowCounterSupport, Storage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from dynaserve.serving.access.errors import BudgetError, OverBudgetError, RateError
from dynaserve.serving.access.patience import ImpatientError, Patience
from dynaserve.serving.refused import LaterError

logger = logging.getLogger(__name__)

BURST_SECONDS = 10
"""A rate is held over that many seconds, so that a page that asks ten times at once is not one
that asks too often."""
DAY_SECONDS = 24 * 3600
LOG_SECONDS = 10.0


class Allowance(RateLimitItemPerSecond):
    """So much in so many seconds.

    Its counters do not have its amount in their names, as the library's have: who gets another
    limit keeps what they have used.
    """

    def key_for(self, *identifiers: bytes | str | float) -> str:
        """Return the counter's name."""
        return "/".join((self.namespace, *map(str, identifiers), str(self.multiples)))


def allowed_requests(per_second: float) -> Allowance:
    """Return a rate as whole requests in whole seconds, never more than it.

    ``BURST_SECONDS`` and ten times as many requests as in one; one request in more seconds where
    the rate is slower than that.
    """
    requests = max(1, math.floor(per_second * BURST_SECONDS + 1e-9))
    seconds = math.ceil(requests / per_second - 1e-9)
    return Allowance(requests, seconds, namespace="requests")


def allowed_rows(per_day: int) -> Allowance:
    """Return a daily budget of rows."""
    return Allowance(per_day, DAY_SECONDS, namespace="rows")


class Ledger:
    """Takes from clients' allowances, in a store that all workers share.

    A window begins when a client comes, and what was used in the one before fades while it lasts:
    a budget that was used up comes back little by little over the next day, not all at once.
    """

    def __init__(self, storage: Storage) -> None:
        self._limiter = SlidingWindowCounterRateLimiter(storage)
        self._patience = Patience()
        self._silent_until = -math.inf

    async def take_request(self, client: str, per_second: float) -> None:
        """Count one request of a client.

        Raises
        ------
        RateError
            It is one too many; nothing was counted.
        LaterError
            It cannot be counted.
        """
        seconds = await self._take(allowed_requests(per_second), client, 1)
        if seconds is not None:
            raise RateError(f"at most {per_second:g} requests per second; wait", seconds)

    async def take_rows(self, client: str, per_day: int, rows: int) -> None:
        """Count rows of a client.

        Raises
        ------
        BudgetError
            They are more than are left of its day; nothing was counted.
        OverBudgetError
            They are more than a whole day's.
        LaterError
            They cannot be counted.
        """
        if rows > per_day:
            raise OverBudgetError(
                f"{rows} rows at once are more than the {per_day} that this API key may ask about "
                "in a day; send fewer"
            )
        seconds = await self._take(allowed_rows(per_day), client, rows)
        if seconds is not None:
            raise BudgetError(
                f"of the {per_day} rows a day of this API key fewer than {rows} are left; wait, or "
                "send fewer",
                seconds,
            )

    async def _take(self, allowance: Allowance, client: str, cost: int) -> int | None:
        """Count, or return in how many seconds to ask again."""
        try:
            return await self._patience(partial(self._taken, allowance, client, cost))
        except Exception as error:  # whatever it is: what is not counted does not pass
            if not isinstance(error, ImpatientError):
                self._complain(error)
            raise LaterError(
                "limits cannot be checked at the moment; try again", seconds=1
            ) from None

    async def _taken(self, allowance: Allowance, client: str, cost: int) -> int | None:
        if await self._limiter.hit(allowance, client, cost=cost):
            return None
        windows = await self._windows(allowance, client)
        if outlasts(windows, allowance.get_expiry()):
            await self._limiter.clear(allowance, client)
            if await self._limiter.hit(allowance, client, cost=cost):
                return None
            windows = await self._windows(allowance, client)
        wait = seconds_until(windows, allowance.amount - cost, allowance.get_expiry())
        return math.floor(wait) + 1

    async def _windows(self, allowance: Allowance, client: str) -> tuple[int, float, int, float]:
        storage = cast("SlidingWindowCounterSupport", self._limiter.storage)
        name, seconds = allowance.key_for(client), allowance.get_expiry()
        return await storage.get_sliding_window(name, seconds)

    def _complain(self, error: Exception) -> None:
        """Say what is broken, once in a while; a Redis can repeat a password."""
        if time.monotonic() >= self._silent_until:
            self._silent_until = time.monotonic() + LOG_SECONDS
            cause = error.__cause__ or error
            detail = f" ({cause})" if isinstance(cause, (OSError, sqlite3.Error)) else ""
            logger.error(
                "limits cannot be checked, so requests with limits are refused: %s%s",
                type(cause).__name__,
                detail,
            )


def seconds_until(windows: tuple[int, float, int, float], room: int, seconds: int) -> float:
    """Return when no more than ``room`` will count, if nothing is asked until then.

    Parameters
    ----------
    windows : tuple
        Count of the last window and how many seconds it fades yet; count of the current one and
        how many seconds that is kept, twice its length in all.
    room : int
        What may count, so that what is asked fits.
    seconds : int
        Length of a window.
    """
    previous, fades, current, kept = windows
    if current > room:  # first this window has to end, then to fade
        return max(0.0, kept - seconds) + fading(current, seconds, room, seconds)
    return fading(previous, fades, room - current, seconds)


def fading(count: int, left: float, room: int, seconds: int) -> float:
    """Return when ``floor(count * left / seconds)``, with ``left`` running out, is ``room``."""
    return max(0.0, left - seconds * (room + 1) / count) if count else 0.0


def outlasts(windows: tuple[int, float, int, float], seconds: int) -> bool:
    """Whether windows will last longer than any can.

    Redis counts down by its machine's clock. Set back, it would lock clients out for as long as it
    was set back.
    """
    _, fades, _, kept = windows
    return fades > 2 * seconds or kept > 3 * seconds
