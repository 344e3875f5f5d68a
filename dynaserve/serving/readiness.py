"""Whether a model answers now: by the calls that requests make of it, or else by a made-up row.

Anybody may ask, and often, so it is answered from what is known already where that says enough.
The made-up row waits its turn and takes part in no count.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from time import monotonic
from typing import Any

from numpy.typing import NDArray

from dynaserve.serving.batching import Batches, Ran
from dynaserve.serving.scoring import Scorer
from dynaserve.serving.telemetry.counts import uncounted

FRESH_SECONDS = 1.0
"""How long a call that went well is answer enough."""
PROBE_SECONDS = 2.0
"""In which a model that is ready answers a made-up row, unless others keep it busy."""
BUSY_SECONDS = 10.0
"""How long ago a call may have gone well for a model to be busy, not stuck."""


class Watched:
    """Runs the rows of requests, and notes when that last went well.

    Parameters
    ----------
    scorer : Scorer
        Runs them.
    row : ndarray (1, *input_shape)
        Made up.
    """

    def __init__(self, scorer: Scorer, row: NDArray[Any]) -> None:
        self.scorer = scorer
        # With one axis more than any request's rows: it shares no call with them, and is told
        # from them at once.
        self.probe = row[None]
        self.went_well = -math.inf

    def __call__(self, rows: NDArray[Any]) -> Ran:
        """Return defended probabilities for rows of requests, or for the made-up row."""
        ran = self.uncounted(rows[0]) if rows.ndim == self.probe.ndim else self.scorer(rows)
        self.went_well = monotonic()
        return ran

    def uncounted(self, row: NDArray[Any]) -> Ran:
        """Return what the scorer gives, past its counts."""
        with uncounted():
            return Ran(self.scorer.score(row))

    def within(self, seconds: float) -> bool:
        """Whether a call went well that lately."""
        return monotonic() - self.went_well < seconds


class Readiness:
    """Says whether a model answers."""

    def __init__(self, watched: Watched, batches: Batches) -> None:
        self.watched, self.batches = watched, batches
        self.probing: asyncio.Task[Any] | None = None

    async def __call__(self) -> bool:
        """Ask; who asks meanwhile waits for the same row. Never raises."""
        if self.watched.within(FRESH_SECONDS):
            return True
        if self.probing is None or self.probing.done():
            self.probing = asyncio.create_task(self._probe())
        done, _ = await asyncio.wait({self.probing}, timeout=PROBE_SECONDS)
        # A row that waits behind calls that do end says nothing against the model.
        return self.watched.within(FRESH_SECONDS if done else BUSY_SECONDS)

    async def _probe(self) -> None:
        with suppress(Exception):  # the time of the last good call says what is to be said
            await self.batches(self.watched.probe)
