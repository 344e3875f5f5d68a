"""What was measured of each anonymizer, as plain records. They hold no text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dynaserve.rlaa.evaluation.fidelity import Fidelity
from dynaserve.rlaa.evaluation.judging import Verdict
from dynaserve.rlaa.evaluation.privacy import Attack


@dataclass(frozen=True)
class MRSRound:
    """MRS of all texts that were edited in a round of that number.

    Attributes
    ----------
    texts
        How many.
    low, median, high
        Quartiles; None where that one is infinite.
    infinite
        In how many something was paid and nothing gained.
    """

    texts: int
    low: float | None
    median: float | None
    high: float | None
    infinite: int


@dataclass(frozen=True)
class Row:
    """One anonymizer over all records.

    Attributes
    ----------
    name
        Which one.
    released
        Share of the texts that it publishes.
    fidelity
        Means over all texts; one that is held back has 0.
    attacks
        Opponent -> what it found.
    own
        Opponents that play in the anonymizer's own loop.
    statuses
        How many texts ended how.
    mrs
        A round each, from the first one.
    verdict
        Means of the judge, as for ``fidelity``; None without a judge.
    unjudged
        How many texts the judge gave no verdict on; they count in no mean.
    """

    name: str
    released: float
    fidelity: Fidelity
    attacks: Mapping[str, Attack]
    own: tuple[str, ...]
    statuses: Mapping[str, int]
    mrs: tuple[MRSRound, ...] = ()
    verdict: Verdict | None = None
    unjudged: int = 0


def mrs_round(values: Sequence[float]) -> MRSRound:
    """Return what the MRS of at least one text amount to; quartiles are values that occur."""
    ordered = sorted(values)
    low, median, high = (_finite(ordered[(len(ordered) - 1) * part // 4]) for part in (1, 2, 3))
    return MRSRound(len(ordered), low, median, high, sum(map(math.isinf, ordered)))


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value
