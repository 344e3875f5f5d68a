"""Concurrent requests share calls of the model, without waiting for one another.

Rows that arrive while the model is busy go together into its next call; there are no timers. A call
that is over sooner than a thread would have begun it runs at once, where it is: to hand it to a
thread and wait would cost its request more than the call itself.

BentoML's own batching would do, but one bad row fails every request of its batch, and its
dispatcher runs all of them in the context of the first. Knows nothing of models, HTTP or
defenses: rows in, rows out.

A model's own arithmetic may depend on the batch in its last bits: matrix products pick another
order of sums for another number of rows. One query then has one answer up to that rounding. Keyed
noise is the same to the bit, for it depends on the query alone.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.serving.visit import Visit

Rows = NDArray[Any]

QUICK_SECONDS = 2e-3
"""Longest call that may hold up the event loop."""

LATEST = 9
"""Calls by which the next is judged: one that the machine held up says little."""


@dataclass(frozen=True)
class Ran:
    """What a call gave, and the seconds of its parts."""

    rows: Rows
    model: float = 0.0
    defense: float = 0.0


@dataclass(frozen=True)
class Waiting:
    """The rows of one request, and where its answer goes."""

    rows: Rows
    answer: asyncio.Future[Rows]
    visit: Visit
    since: float
    """When it began to wait, by ``perf_counter``."""

    def ends(self, ran: Ran, begun: float, rows: Rows) -> None:
        """Hand out the answer, unless nobody waits for it any more."""
        if not self.answer.done():
            note(self.visit, ran, begun - self.since)
            self.answer.set_result(rows)


def note(visit: Visit, ran: Ran, queue: float) -> None:
    """Tell a visit how long its rows took."""
    visit.queue, visit.model, visit.defense = queue, ran.model, ran.defense


class Batches:
    """Runs one function over the rows of many requests, one call at a time.

    Parameters
    ----------
    run : callable
        From rows (n, ...) to rows (n, ...); each row of the answer depends on its own row, and
        on the others by rounding at most.
    max_rows : int
        Most rows in one call, unless a single request brings more.
    """

    def __init__(self, run: Callable[[Rows], Ran], max_rows: int) -> None:
        self.run = run
        self.max_rows = max_rows
        self.waiting: deque[Waiting] = deque()
        self.worker: asyncio.Task[None] | None = None
        self.paces: deque[tuple[int, float]] = deque(maxlen=LATEST)
        """Numbers in the rows, and seconds, of the latest calls."""

    async def __call__(self, rows: Rows, visit: Visit | None = None) -> Rows:
        """Return what ``run`` gives for rows; raise what it raises for these rows alone.

        ``visit`` is told how long they waited and took.
        """
        visit = visit or Visit(id="")
        if self.worker is None and self.is_quick(rows.size):
            ran = self.timed(rows)
            note(visit, ran, 0.0)
            return ran.rows
        loop = asyncio.get_running_loop()
        request = Waiting(rows, loop.create_future(), visit, perf_counter())
        self.waiting.append(request)
        if self.worker is None:
            # An empty context: the worker outlives the request that happens to start it.
            self.worker = contextvars.Context().run(loop.create_task, self.work())
        return await request.answer

    def is_quick(self, count: int) -> bool:
        """Whether a call with so many numbers should be over at once, as most latest ones were."""
        expected = [
            seconds if count <= size else seconds * count / size for size, seconds in self.paces
        ]
        quick = [seconds for seconds in expected if seconds < QUICK_SECONDS]
        return len(quick) > len(expected) / 2

    def timed(self, rows: Rows) -> Ran:
        """Run, and note how long it took."""
        begun = perf_counter()
        try:
            ran = self.run(rows)
        finally:
            self.paces.append((rows.size, perf_counter() - begun))
        if len(ran.rows) != len(rows):
            raise ValueError(f"{len(rows)} rows went in, {len(ran.rows)} came out")
        return ran

    async def work(self) -> None:
        """Answer until nobody waits."""
        batch: list[Waiting] = []
        try:
            while batch := self.take():
                await self.answer(batch)
        finally:
            self.worker = None
            for request in (*batch, *self.waiting):  # there are some only if the loop is closing
                request.answer.cancel()
            self.waiting.clear()

    def take(self) -> list[Waiting]:
        """Take the requests that fit one call, in order: rows of one shape, at least one."""
        batch: list[Waiting] = []
        room = self.max_rows
        while self.waiting:
            rows = self.waiting[0].rows
            if batch and (len(rows) > room or rows.shape[1:] != batch[0].rows.shape[1:]):
                break
            request = self.waiting.popleft()
            if not request.answer.cancelled():
                batch.append(request)
                room -= len(rows)
        return batch

    async def answer(self, batch: list[Waiting]) -> None:
        """Run a batch and hand out the answers; after a failure, one request at a time."""
        ends = np.cumsum([len(request.rows) for request in batch])
        begun = perf_counter()
        try:
            rows = np.concatenate([request.rows for request in batch])
            ran = await asyncio.to_thread(self.timed, rows)
        except Exception as error:
            if len(batch) > 1:
                for request in batch:
                    await self.answer([request])
            elif not batch[0].answer.done():
                batch[0].answer.set_exception(error)
        else:
            for request, part in zip(batch, np.split(ran.rows, ends[:-1]), strict=True):
                request.ends(ran, begun, part)
