"""A rate with the interval that its few observations allow.

Zero leaks of 50 is not zero: the upper end of the interval is what an audit has shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Rate:
    """``found`` of ``total``, and the two-sided 95% Clopper-Pearson interval.

    With ``total`` zero nothing was observed: the value is nan, the interval is all of [0, 1].

    Examples
    --------
    >>> rate = Rate(0, 50)
    >>> rate.value, rate.low, round(rate.high, 4)
    (0.0, 0.0, 0.0711)
    """

    found: int
    total: int

    def __post_init__(self) -> None:
        if not 0 <= self.found <= self.total:
            raise ValueError(f"rate: {self.found} of {self.total} is none")

    @property
    def value(self) -> float:
        """The share that was found, nan if nothing was looked at."""
        return self.found / self.total if self.total else math.nan

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return clopper_pearson(self.found, self.total)[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return clopper_pearson(self.found, self.total)[1]

    def to_dict(self) -> dict[str, Any]:
        """Return the five numbers, JSON-able: a value that nobody observed is null."""
        low, high = clopper_pearson(self.found, self.total)
        value = self.value if self.total else None
        return {
            "value": value,
            "low": low,
            "high": high,
            "found": self.found,
            "total": self.total,
        }

    def __str__(self) -> str:
        if not self.total:
            return "0 of 0"
        return f"{self.found} of {self.total} = {self.value:.1%} [{self.low:.1%}, {self.high:.1%}]"


def clopper_pearson(found: int, total: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the exact two-sided interval of a binomial proportion.

    Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of
    the binomial", Biometrika 26 (1934): its ends are quantiles of two beta distributions. It
    covers the true rate at least as often as it says, for trials that are independent.

    Examples
    --------
    >>> clopper_pearson(0, 10)[1] == 1 - (0.05 / 2) ** (1 / 10)
    True
    """
    tail = (1 - confidence) / 2
    # The two ends that have a closed form need no scipy, and are exact.
    if found in {0, total}:
        edge = tail ** (1 / total) if total else 0.0
        return (0.0 if found == 0 else edge), (1.0 if found == total else 1 - edge)
    from scipy.special import betaincinv  # noqa: PLC0415 - light imports

    low = betaincinv(found, total - found + 1, tail)
    high = betaincinv(found + 1, total - found, 1 - tail)
    return float(low), float(high)
