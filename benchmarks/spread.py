"""How much slower one thing is than another, with an interval that says how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Samples = Sequence[NDArray[np.float64]]
"""What was measured, an array for each round; rounds of two contenders with one index are pairs."""


class Ratio(NamedTuple):
    """A ratio and its 95% bootstrap interval."""

    value: float
    low: float
    high: float

    def percent(self) -> str:
        """Return the ratio as a change and half its interval, such as ``+1.2% ± 0.4``."""
        return f"{100 * (self.value - 1):+.1f}% ± {50 * (self.high - self.low):.1f}"


def ratio(
    above: Samples,
    below: Samples,
    statistic: Callable[[NDArray[np.float64]], Any],
    *,
    resamples: int = 1000,
) -> Ratio:
    """Return statistic(above) / statistic(below), each over all rounds together.

    The interval comes from drawing whole rounds anew, the same ones of both: requests of one
    round share what the machine did meanwhile, so they are not independent.
    """
    if len(above) != len(below) or len(above) < 2:
        raise ValueError(
            f"{len(above)} rounds against {len(below)}: they must be pairs, two at least"
        )
    rng = np.random.default_rng(0)

    def over(rounds: Sequence[int] | NDArray[np.int64]) -> float:
        upper, lower = (
            statistic(np.concatenate([samples[i] for i in rounds])) for samples in (above, below)
        )
        return float(upper / lower)

    drawn = [over(rng.integers(len(above), size=len(above))) for _ in range(resamples)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Ratio(over(range(len(above))), float(low), float(high))
