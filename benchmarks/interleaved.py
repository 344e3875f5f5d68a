"""Times several calls against each other so finely that a slow spell of the machine hits all.

Each round gives every contender the same few batches, for a fraction of a millisecond: less than
the slices in which an operating system shares out a processor, so that many rounds go
undisturbed on a busy machine too. Every second round takes the contenders in reverse.
pytest-benchmark times one contender to its end before the next begins, which is right for a
report on a quiet machine; ``scaling.py`` and ``check.py`` need ratios that hold on any.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from benchmarks.contenders import Call, run

BLOCK_SECONDS = 3e-4

Seconds = dict[str, NDArray[np.float64]]
"""Contender -> seconds per call in each round, (rounds,)."""


def time_rounds(
    contenders: Mapping[str, list[Call]], *, seconds: float, at_least: int = 5
) -> Seconds:
    """Return what a call of each contender took in each round.

    Parameters
    ----------
    contenders
        Name -> its call for each batch.
    seconds
        How long all rounds should take together.
    at_least
        Rounds that are made however long they take.
    """
    with _no_garbage_collection():
        costs = {name: _seconds(calls) for name, calls in contenders.items()}  # warms up, too
        together = max(1, round(BLOCK_SECONDS / max(costs.values())))
        batches = len(next(iter(contenders.values())))
        parts = cycle(range(0, batches, together))
        rounds = max(at_least, int(seconds / (together * sum(costs.values()))))
        taken: dict[str, list[float]] = {name: [] for name in contenders}
        for number, first in zip(range(rounds), parts, strict=False):
            for name in list(contenders)[:: -1 if number % 2 else 1]:
                taken[name].append(_seconds(contenders[name][first : first + together]))
    return {name: np.array(values) for name, values in taken.items()}


def _seconds(calls: list[Call]) -> float:
    """Return seconds per call."""
    start = perf_counter()
    run(calls)
    return (perf_counter() - start) / len(calls)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
