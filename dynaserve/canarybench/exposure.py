"""Exposure: how much more of the canaries than of values never planted a release holds.

After "The Secret Sharer" (Carlini et al., USENIX Security 2019), whose score is a model's
perplexity. A release has no model to ask, so a value's score is the share of its character
5-grams that the release holds; ranks among decoys then mean the same as there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynaserve.canarybench.manifest import Canary, CanaryManifest

_GRAM = 5
_CHUNK = 1 << 22
_OVERLAP = 64
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads the high bits
_NOT_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Exposure:
    """Exposure of the canaries of one kind, in bits.

    ``bits = log2(decoys + 1) - log2(rank)``, Secret Sharer definition 5 (approximated by
    sampling), ties sharing their mean rank. A canary that is like the decoys has about 1 bit;
    the most that can be seen is ``limit = log2(decoys + 1)``.
    """

    kind: str
    mean: float
    highest: float
    limit: float
    canaries: int
    decoys: int


def exposures(manifest: CanaryManifest, text: str) -> tuple[Exposure, ...]:
    """Return the exposure of each kind that has canaries and decoys, by name of the kind."""
    grams = _ReleaseGrams(text)
    found = []
    for kind in sorted({canary.kind for canary in manifest.canaries}):
        planted = _scores([each for each in manifest.canaries if each.kind == kind], grams)
        decoys = _scores([each for each in manifest.decoys if each.kind == kind], grams)
        if not decoys.size:
            continue
        bits = exposure_bits(planted, decoys)
        limit = math.log2(decoys.size + 1)
        found.append(
            Exposure(kind, float(bits.mean()), float(bits.max()), limit, planted.size, decoys.size)
        )
    return tuple(found)


def exposure_bits(
    planted: npt.NDArray[np.float64], decoys: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return each planted value's exposure in bits among the decoys; higher scores rank first.

    Parameters
    ----------
    planted, decoys
        Scores, shapes (n,) and (d,), d >= 1.

    Returns
    -------
    (n,) float64; between 0 and log2(d + 1).
    """
    ordered = np.sort(decoys)
    above = decoys.size - np.searchsorted(ordered, planted, side="right")
    tied = decoys.size - above - np.searchsorted(ordered, planted, side="left")
    bits: npt.NDArray[np.float64] = math.log2(decoys.size + 1) - np.log2(1 + above + tied / 2)
    return bits


class _ReleaseGrams:
    """Which 5-grams a release holds, as a table of hashed bits: some are held by accident.

    The accidents meet canaries and decoys alike, so that ranks stay fair.
    """

    def __init__(self, text: str) -> None:
        self._bits = min(max((len(text) * 256).bit_length(), 20), 27)
        self._table = np.zeros(1 << self._bits, np.bool_)
        for start in range(0, len(text), _CHUNK):
            letters = _letters(text[max(start - _OVERLAP, 0) : start + _CHUNK])
            self._table[self._slots(_hashes(letters))] = True

    def shares(self, values: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the share of each value's 5-grams that the release holds, shape (n,)."""
        letters = [_letters(value) for value in values]
        hashes = _hashes("".join(letters))
        owner = np.repeat(np.arange(len(letters)), [len(each) for each in letters])
        inside = owner[: hashes.size] == owner[owner.size - hashes.size :]  # of a single value
        owner = owner[: hashes.size][inside]
        held = self._table[self._slots(hashes[inside])]
        count = np.bincount(owner, minlength=len(letters))
        shares: npt.NDArray[np.float64] = np.bincount(
            owner, weights=held, minlength=len(letters)
        ) / np.maximum(count, 1)
        return shares

    def _slots(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        return hashes >> np.uint64(64 - self._bits)


def _scores(canaries: Sequence[Canary], grams: _ReleaseGrams) -> npt.NDArray[np.float64]:
    return grams.shares([canary.value for canary in canaries])


def _letters(text: str) -> str:
    """Return what spelling and layout leave: letters and digits, case folded."""
    return _NOT_WORD.sub("", text.casefold())


def _hashes(text: str) -> npt.NDArray[np.uint64]:
    """Return a hash of every 5-gram, shape (max(len - 4, 0),)."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    count = max(points.size - _GRAM + 1, 0)
    hashes = np.zeros(count, np.uint64)
    for offset in range(_GRAM):
        hashes = (hashes + points[offset : offset + count] + np.uint64(1)) * _MULTIPLIER
    return hashes
