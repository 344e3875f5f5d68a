"""What the CanaryBench paper (arXiv 2601.18834) reports, and when ours reproduces it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dynaserve.canarybench.benchmark import CONVERSATIONS, Cell
from dynaserve.canarybench.rates import Rate

CLUSTERS = math.isqrt(CONVERSATIONS)
"""54: the number the paper has, and the floor of the root of its 3,000 conversations."""
LEAKY = 0.90
COHERENCE_CHANGE = 0.03


@dataclass(frozen=True, slots=True)
class Published:
    """A row of the paper's results."""

    clusters: Rate
    canaries: Rate
    indicators: Mapping[str, int]
    coherence: float
    published: int


PAPER: Mapping[tuple[str, str], Published] = {
    ("extractive", "none"): Published(
        Rate(50, 52), Rate(51, 1835), {"email": 17, "phone": 20, "zip": 27}, 0.653, 54
    ),
    # How many clusters and canaries were left to leak after k-min is not stated.
    ("extractive", "both"): Published(
        Rate(0, 32), Rate(0, 1835), {"email": 0, "phone": 0, "zip": 0}, 0.662, 32
    ),
}
"""By summarizer and defense; the paper gives its defenses as one."""


@dataclass(frozen=True, slots=True)
class Check:
    """Something that the paper found and that must hold in every seed of ours."""

    claim: str
    measured: str
    holds: bool


def checks(cells: Sequence[Cell]) -> tuple[Check, ...]:
    """Return whether the paper's findings hold."""
    by_name = {(cell.summarizer, cell.defense): cell for cell in cells}
    none, both = by_name["extractive", "none"], by_name["extractive", "both"]
    worst = none.spread(lambda run: run.cluster_rate.value).low
    found = sum(run.canary_rate.found for run in both.runs)
    change = max(abs(b.coherence - a.coherence) for a, b in zip(none.runs, both.runs, strict=True))
    numbers = sorted({run.published for run in none.runs})
    return (
        Check(
            f"undefended extracts leak in at least {LEAKY:.0%} of clusters",
            f"{worst:.1%} in the worst seed",
            worst >= LEAKY,
        ),
        Check(
            "k-min and redaction together leak nothing",
            f"{found} leaks; at most {both.canaries.high:.2%} of canaries, "
            f"{both.clusters.high:.1%} of clusters",
            found == 0,
        ),
        Check(
            f"they change coherence by no more than {COHERENCE_CHANGE}",
            f"{change:.3f} in the worst seed",
            change <= COHERENCE_CHANGE,
        ),
        Check(
            f"{CLUSTERS} clusters before suppression",
            ", ".join(map(str, numbers)),
            numbers == [CLUSTERS],
        ),
    )
