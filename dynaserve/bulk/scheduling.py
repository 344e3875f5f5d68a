"""Calls on the workers of a cluster: a few at a time, with what came of each as it comes.

Dask decides where a call runs, and runs it elsewhere if its worker dies. It gives up all calls that
several dying workers held, one of which may be to blame; so each is made again alone. It knows
nothing of what the calls do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dynaserve.bulk.cluster import require_dask
from dynaserve.bulk.errors import StoppedError

GOES_ON = "what is done is kept: the same command goes on with it"
_GONE = f"the Dask scheduler has gone; {GOES_ON}"
_IN_HAND = 3
"""Calls for each thread of a worker: it never waits for the scheduler to send the next one."""
_TICK = 1.0
"""Seconds between two looks at a cluster on which nothing is finished."""
_PATIENCE = 60
"""Looks at a cluster without any worker after which nobody is expected to come."""

Call = tuple[Any, ...]
"""A function and its arguments."""


@dataclass(frozen=True)
class Killed:
    """What came of a call that ended every worker which tried it, with no other call beside it."""


@dataclass
class Crew:
    """The workers of a cluster.

    Attributes
    ----------
    client
        Connected to them.
    run
        A name that no other run has.
    tick
        Called once a second, and whenever something is finished, with the number of workers.
    """

    client: Any
    run: str
    tick: Callable[[int], object]
    _absent: int = 0

    def results(
        self, name: str, calls: Iterable[tuple[int, Call]]
    ) -> Iterator[tuple[int, Any | Killed]]:
        """Yield the number of each call with what it returned, in the order they finish in.

        Parameters
        ----------
        name
            What they are called on Dask's dashboard.
        calls
            Taken as there is room for them.

        Raises
        ------
        StoppedError
            The scheduler or all workers have gone, or a worker cannot read or write.
        Exception
            Whatever else a call raises.
        """
        suspects: list[tuple[int, Call]] = []
        for made, result in self._results(name, calls):
            if isinstance(result, Killed):
                suspects.append(made)
            else:
                yield made[0], result
        for made in suspects:
            for (number, _), result in self._results(f"{name}-alone", [made]):
                yield number, result

    def _results(
        self, name: str, calls: Iterable[tuple[int, Call]]
    ) -> Iterator[tuple[tuple[int, Call], Any | Killed]]:
        """Yield calls with what came of them, `Killed` also where another one was to blame."""
        distributed = require_dask()
        waiting = iter(calls)
        pending: dict[Any, tuple[int, Call]] = {}
        try:
            while True:
                for number, call in islice(waiting, max(0, self._room(len(pending)))):
                    key = f"{name}-{self.run}-{number}"
                    pending[self.client.submit(*call, key=key)] = number, call
                if not pending:
                    return
                with suppress(TimeoutError, distributed.TimeoutError):
                    distributed.wait(list(pending), timeout=_TICK, return_when="FIRST_COMPLETED")
                for future in [each for each in pending if each.done()]:
                    yield pending.pop(future), _result(future)
        except (distributed.CancelledError, distributed.comm.CommClosedError):
            raise StoppedError(_GONE) from None
        finally:
            with suppress(Exception):  # what is pending is in nobody's way if this fails
                self.client.cancel(list(pending))

    def _room(self, pending: int) -> int:
        """Return how many calls may be made now; look whether anybody is there for them.

        One always waits, so that a cluster that grows with its work has a reason to.
        """
        try:
            threads = self.client.nthreads()
        except (OSError, RuntimeError):
            raise StoppedError(_GONE) from None
        self._absent = 0 if threads else self._absent + 1
        if self._absent > _PATIENCE:
            raise StoppedError(f"all Dask workers have gone; {GOES_ON}")
        self.tick(len(threads))
        return max(1, _IN_HAND * int(sum(threads.values()))) - pending


def _result(future: Any) -> Any:
    distributed = require_dask()
    if future.cancelled():
        raise StoppedError(_GONE)
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, distributed.KilledWorker):
        return Killed()
    if isinstance(error, OSError) and not isinstance(error, distributed.comm.CommClosedError):
        why = error.strerror or str(error)
        where = f"{error.filename}: " if error.filename else ""
        raise StoppedError(f"{where}{why}; {GOES_ON}")
    raise error
