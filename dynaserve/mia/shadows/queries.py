"""Made-up queries: near-duplicates of a row, and inputs drawn at random.

All models of a run are asked the same ones. They are drawn anew for each model, chunk by chunk
from a seed: fifty copies of every image would not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CHUNK_VALUES = 2**23
"""About how many input values are in memory at once."""
_POOL = 2**22
"""Drawing noise takes longer than a small network needs to answer. So each copy gets a piece of
one long draw, from a place of its own: at each feature, copies are independent of one another."""


@dataclass(frozen=True)
class Jitter:
    """How near-duplicates are made.

    Parameters
    ----------
    sizes
        For binary inputs how many bits are flipped, drawn with replacement (so up to that many
        differ); else the standard deviation of Gaussian noise, in units of the inputs.
    copies
        M, how many near-duplicates of each row.

    Raises
    ------
    ValueError
        For sizes or copies that are not positive, or sizes named twice.
    """

    sizes: tuple[float, ...]
    copies: int = 50

    def __post_init__(self) -> None:
        if self.copies < 1 or any(not size > 0 for size in self.sizes):
            raise ValueError("jitter: sizes and copies must be positive")
        if len({size_name(size) for size in self.sizes}) < len(self.sizes):
            raise ValueError("jitter: a size is named twice")

    def chunks(
        self, inputs: NDArray[Any], size: float, *, binary: bool, seed: int
    ) -> Iterator[NDArray[Any]]:
        """Yield near-duplicates (m * M, ...) of the next m rows of inputs (n, ...).

        Raises
        ------
        ValueError
            If bits are to be flipped and ``size`` is no whole number.
        """
        if binary and size != int(size):
            raise ValueError(
                f"jitter: {size_name(size)} bits cannot be flipped; name whole numbers"
            )
        rng = np.random.default_rng([seed, 2, *size_name(size).encode()])
        rows = max(_CHUNK_VALUES // (self.copies * inputs[0].size), 1)
        noise = None if binary else _noise(size, inputs[0].size, rng)
        for begin in range(0, len(inputs), rows):
            copies = np.repeat(inputs[begin : begin + rows], self.copies, axis=0)
            yield _flipped(copies, int(size), rng) if noise is None else _noisy(copies, noise, rng)


def random_inputs(inputs: NDArray[Any], count: int, *, binary: bool, seed: int) -> NDArray[Any]:
    """Return (count, ...) uniform random inputs, each feature in the range that ``inputs`` have.

    Source: HAMP (Chen and Pattabiraman, 2024) scores such inputs for its test-time defense.
    """
    rng = np.random.default_rng([seed, 3])
    shape = (count, *inputs.shape[1:])
    if binary:
        return rng.integers(0, 2, shape, dtype=np.uint8)
    return rng.uniform(inputs.min(axis=0), inputs.max(axis=0), shape).astype(np.float32)


def size_name(size: float) -> str:
    """Return a size as the names of arrays spell it: 16, 0.05."""
    return f"{size:g}"


def _flipped(copies: NDArray[Any], bits: int, rng: np.random.Generator) -> NDArray[Any]:
    flat = copies.reshape(len(copies), -1)
    rows = np.arange(len(flat))[:, None]
    places = rng.integers(0, flat.shape[1], (len(flat), bits))
    flat[rows, places] = 1 - flat[rows, places]
    return copies


def _noise(size: float, width: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return all pieces (_POOL, width) of one draw of Gaussian noise, which share its memory."""
    draw = rng.standard_normal(_POOL + width - 1, np.float32) * np.float32(size)
    return np.lib.stride_tricks.sliding_window_view(draw, width)


def _noisy(
    copies: NDArray[Any], noise: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.float32]:
    drawn = noise[rng.integers(len(noise), size=len(copies))]
    return np.asarray(copies + drawn.reshape(copies.shape), np.float32)
