"""Finds what is left of a value: a long stretch of it, or all of it but a few letters.

Every eight letters of a value that not too many share are looked up in the text; from each that
is there, the value is followed to both sides. A value of n >= 16 letters of which n // 12 are
missing, wrong or added has eight intact letters in a row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.canarybench.matching.grams import GramSet, grams
from dynaserve.canarybench.matching.layers import Skeleton, image, skeleton_of
from dynaserve.canarybench.matching.patterns import MAX_SHARERS, Pattern
from dynaserve.canarybench.matching.results import CanaryLike, Tier
from dynaserve.canarybench.matching.verbatim import WIDTH, Occurrence
from dynaserve.extras import needing

SHORTEST = 14
"""Of fewer letters, what is left could be anything."""
_SHARE = 0.6
"""The share of a value that counts as a long stretch, and in ``_RANDOM`` kinds..."""
_RANDOM_LETTERS = 12
"""...as many letters, for no accident makes twelve random ones."""
_RANDOM = {"card", "iban", "secret", "token"}
_MIN_LETTERS = 12
_FEWEST_OWN = _MIN_LETTERS - WIDTH + 1
"""Eights of a stretch that not too many share: all of the shortest one."""
_LETTERS_PER_EDIT = 12


@dataclass(frozen=True, slots=True)
class _Value:
    text: str
    stretch: int
    """Letters in a row that count."""
    edits: int

    @classmethod
    def of(cls, canary: CanaryLike) -> _Value:
        text = skeleton_of(canary.value)
        share = 0.0 if canary.kind in _RANDOM else _SHARE
        stretch = max(_MIN_LETTERS, math.ceil(share * len(text)))
        return cls(text, stretch, len(text) // _LETTERS_PER_EDIT)


class Near:
    """Finds stretches and misspellings of canaries.

    Raises
    ------
    ImportError
        Without rapidfuzz.
    """

    def __init__(self, canaries: Sequence[CanaryLike]) -> None:
        self._distance = _distance()
        values = [_Value.of(canary) for canary in canaries]
        self._owners = [i for i, value in enumerate(values) if len(value.text) >= SHORTEST]
        self._values = [values[i] for i in self._owners]
        lengths = np.array([len(value.text) for value in self._values], int)
        self._offsets = np.cumsum(lengths) - lengths
        of = np.repeat(np.arange(len(lengths)), lengths)
        at = np.arange(len(of)) - self._offsets[of]
        inside = np.flatnonzero(lengths[of] - at >= WIDTH)
        every = grams(image("".join(value.text for value in self._values)), WIDTH)[inside]
        order = np.argsort(every, kind="stable")
        _, counts = np.unique(every[order], return_counts=True)
        kept = np.repeat(counts <= MAX_SHARERS, counts)
        own = inside[order][kept]
        self._of, self._at = of[own], at[own]
        self._is_own = np.zeros(len(of), bool)
        self._is_own[own] = True
        self._grams = GramSet(WIDTH, every[order][kept])
        self._counts = counts[counts <= MAX_SHARERS]
        self._begins = np.cumsum(self._counts) - self._counts

    def find(self, skeleton: Skeleton, image: NDArray[np.uint8]) -> Iterator[Occurrence]:
        """Give the occurrences in a skeleton, of which ``image`` is the padded image."""
        text = skeleton.text
        done: dict[int, int] = {}
        for which, at, place in self._seeds(image):
            if place < done.get(which, 0):
                continue
            found = self._follow(which, at, text, place)
            if found:
                tier, start, end = found
                done[which] = end
                yield Occurrence(Pattern(self._owners[which], tier, is_whole=False), start, end)

    def _seeds(self, image: NDArray[np.uint8]) -> Iterator[tuple[int, int, int]]:
        """Give (value, place in it, place in the text) of each intact run's first eight letters."""
        places, members = self._grams.find(image)
        counts = self._counts[members]
        place = np.repeat(places, counts)
        within = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
        entry = np.repeat(self._begins[members], counts) + within
        of, at = self._of[entry], self._at[entry]
        order = np.lexsort((place, place - at, of))
        of, at, place = of[order], at[order], place[order]
        # A seed that follows another one letter later on the same diagonal is the same run.
        fresh = np.ones(len(of), bool)
        fresh[1:] = (np.diff(of) != 0) | (np.diff(place - at) != 0) | (np.diff(place) != 1)
        yield from zip(of[fresh].tolist(), at[fresh].tolist(), place[fresh].tolist(), strict=True)

    def _follow(self, which: int, at: int, text: str, place: int) -> tuple[Tier, int, int] | None:
        value = self._values[which]
        back = _common(value.text[:at][::-1], text[max(place - at, 0) : place][::-1])
        ahead = _common(value.text[at:], text[place : place + len(value.text) - at])
        first = self._offsets[which] + at
        own = np.count_nonzero(self._is_own[first - back : first + ahead - WIDTH + 1])
        if back + ahead >= value.stretch and own >= _FEWEST_OWN:
            digits = value.text[at - back : at + ahead].isdecimal()
            return (Tier.DIGITS if digits else Tier.SUBSTRING), place - back, place + ahead
        if not value.edits:
            return None
        left, before = self._nearest(
            value.text[:at][::-1], text[max(place - at - value.edits, 0) : place][::-1], value.edits
        )
        right, after = self._nearest(
            value.text[at:], text[place : place + len(value.text) - at + value.edits], value.edits
        )
        if left + right > value.edits:
            return None
        return Tier.EDIT, place - before, place + after

    def _nearest(self, wanted: str, text: str, edits: int) -> tuple[int, int]:
        """Return the fewest edits from ``wanted`` to a beginning of a text, and its length."""
        lengths = range(max(len(wanted) - edits, 0), min(len(wanted) + edits, len(text)) + 1)
        return min(
            ((self._distance(wanted, text[:n], score_cutoff=edits), n) for n in lengths),
            default=(edits + 1, 0),
        )


def _common(a: str, b: str) -> int:
    """Return how many letters two texts begin with in common."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((i for i, (x, y) in pairs if x != y), min(len(a), len(b)))


def _distance() -> Any:
    """Return the function that counts edits, two neighbours in the wrong order being one."""
    with needing("matching needs rapidfuzz", extra="canary"):
        from rapidfuzz.distance import OSA  # noqa: PLC0415 (an extra)
    return OSA.distance
