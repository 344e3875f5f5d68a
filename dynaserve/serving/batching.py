"""Concurrent requests share calls of the model, without waiting for one another.

Rows that arrive while the model is busy go together into its next call; there are no timers.
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
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[Any]


@dataclass(frozen=True)
class Waiting:
    """The rows of one request, and where its answer goes."""

    rows: Rows
    answer: asyncio.Future[Rows]


class Batches:
    """Runs one function over the rows of many requests, on a thread, one call at a time.

    Parameters
    ----------
    run : callable
        From rows (n, ...) to rows (n, ...); each row of the answer depends on its own row, and
        on the others by rounding at most.
    max_rows : int
        Most rows in one call, unless a single request brings more.
    """

    def __init__(self, run: Callable[[Rows], Rows], max_rows: int) -> None:
        self.run = run
        self.max_rows = max_rows
        self.waiting: deque[Waiting] = deque()
        self.worker: asyncio.Task[None] | None = None

    async def __call__(self, rows: Rows) -> Rows:
        """Return ``run(rows)``; raise what it raises for these rows alone."""
        loop = asyncio.get_running_loop()
        request = Waiting(rows, loop.create_future())
        self.waiting.append(request)
        if self.worker is None:
            # An empty context: the worker outlives the request that happens to start it.
            self.worker = contextvars.Context().run(loop.create_task, self.work())
        return await request.answer

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
        try:
            rows = np.concatenate([request.rows for request in batch])
            joint = await asyncio.to_thread(self.run, rows)
            if len(joint) != ends[-1]:
                raise ValueError(f"{ends[-1]} rows went in, {len(joint)} came out")
        except Exception as error:
            if len(batch) > 1:
                for request in batch:
                    await self.answer([request])
            elif not batch[0].answer.done():
                batch[0].answer.set_exception(error)
        else:
            for request, part in zip(batch, np.split(joint, ends[:-1]), strict=True):
                if not request.answer.done():
                    request.answer.set_result(part)
