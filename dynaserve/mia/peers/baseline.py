"""What the output defenses of others have in common: they are measured here, never served."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses.protocol import ArrayT
from dynaserve.defenses.rows import logits_of, require_logits, unwrap


class Baseline(ABC):
    """A `Defense` from one function over checked rows, for comparison only."""

    def __call__(self, logits: ArrayT, *, queries: Any = None) -> ArrayT:  # noqa: ARG002
        """Return defended probabilities, float32, of the shape and kind of ``logits`` (..., k).

        Raises
        ------
        ValueError
            For logits without a softmax, naming the first such row.
        """
        rows = unwrap(logits)
        require_logits(rows.values)
        flat = rows.values.reshape(-1, rows.values.shape[-1]).astype(np.float32)
        released = np.ascontiguousarray(self._release(flat), np.float32)
        return cast("ArrayT", rows.wrap(released.reshape(rows.values.shape)))

    def from_probabilities(self, probabilities: ArrayT, *, queries: Any = None) -> ArrayT:
        """Return the same for a model that gives probabilities (..., k)."""
        return self(logits_of(probabilities), queries=queries)

    @abstractmethod
    def describe(self) -> str:
        """Return one line for people."""

    def save(self, path: str | Path) -> NoReturn:
        """Refuse: a file would offer to serve it.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(f"{path}: {type(self).__name__} is here to be measured, not to be served")

    @abstractmethod
    def _release(self, logits: NDArray[np.float32]) -> NDArray[Any]:
        """Return probabilities (n, k) of logits (n, k)."""


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Return the softmax over the last axis, in the precision of ``logits``."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def one_time_uniforms(logits: NDArray[np.float32], seed: int) -> NDArray[np.float64]:
    """Return one number in [0, 1) per row (n, k), always the same for the same row.

    Defenses that draw one random answer for each query, and repeat it when the query is
    repeated, need this: fresh draws could be averaged away. A multiply-shift hash of the bits.
    """
    rng = np.random.default_rng(seed)
    factors = rng.integers(2**63, size=logits.shape[1], dtype=np.uint64) * np.uint64(2)
    words = np.ascontiguousarray(logits + np.float32(0)).view(np.uint32).astype(np.uint64)
    mixed = (words * (factors + np.uint64(1))).sum(axis=1, dtype=np.uint64)
    mixed ^= mixed >> np.uint64(30)  # the finalizer of SplitMix64
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return np.asarray((mixed >> np.uint64(11)) * 2.0**-53)
