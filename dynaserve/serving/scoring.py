"""A model and its defense as one function: the only place of the server where logits exist.

Each call is counted here, as a whole; of the rows in it nothing but their number leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses import Defense, DynaNoise
from dynaserve.serving.batching import Ran
from dynaserve.serving.decorator import defended
from dynaserve.serving.failures import guarded
from dynaserve.serving.models import Model, UnscoredError
from dynaserve.serving.telemetry import Repeats, count_call


class Scorer:
    """Rows to defended probabilities, with the time that each step took.

    One thread at a time may call it.
    """

    def __init__(self, model: Model, defense: Defense) -> None:
        self.model, self.defense = model, defense
        self._repeats = Repeats()
        self._count_repeats: Callable[[NDArray[Any]], int] = self._repeats.of_rows
        if isinstance(defense, DynaNoise) and defense.config.noise == "keyed":
            self.defense = defense.watched(self._keep)
            self._count_repeats = self._of_kept
        self._model_seconds = 0.0

    def __call__(self, rows: NDArray[Any]) -> Ran:
        """Return defended probabilities (n, k) for rows (n, *input_shape)."""
        begun = perf_counter()
        probabilities = self.score(rows)
        seconds = perf_counter() - begun
        count_call(len(rows), self._count_repeats(rows))
        return Ran(probabilities, self._model_seconds, seconds - self._model_seconds)

    def _keep(self, row_keys: NDArray[np.uint32]) -> None:
        self._row_keys = row_keys

    def _of_kept(self, _: NDArray[Any]) -> int:
        """Return how many rows of the call were seen before, by the keys of their noise."""
        return self._repeats.of_row_keys(self._row_keys)

    @defended(lambda self: self.defense)
    def score(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return defended probabilities (n, k)."""
        begun = perf_counter()
        logits = guarded("the model", lambda: self.model.logits(rows), (UnscoredError,))
        self._model_seconds = perf_counter() - begun
        return logits
