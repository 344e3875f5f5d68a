"""What is asked of the defended server beside the others, and whether it holds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.peers.contestants import CONTROL, DEFENSES, UNDEFENDED, defended
from benchmarks.peers.measuring import Rounds, Workload
from benchmarks.spread import Ratio, ratio

SMALL, LARGE = Workload(1, 10), Workload(64, 1000)


class Criterion(NamedTuple):
    """A bound on the ratio of two medians."""

    text: str
    workload: Workload
    ours: str
    """The way into the defended server."""
    theirs: str
    """Contestant and way."""
    at_most: float
    """Bound of our median relative to theirs."""
    controlled: bool = False
    """Whether the control is shown too: what the ratio is between two equal processes."""


CRITERIA = (
    Criterion("8 times faster than MLServer JSON", LARGE, "binary", "MLServer JSON", 1 / 8),
    Criterion("no slower than MLServer JSON", SMALL, "binary", "MLServer JSON", 1),
    Criterion("no slower than plain BentoML JSON", SMALL, "JSON", "BentoML JSON", 1),
    Criterion("no slower than plain BentoML JSON", LARGE, "JSON", "BentoML JSON", 1),
    Criterion("the defense costs under 2%", SMALL, "binary", f"{UNDEFENDED} binary", 1.02, True),
    Criterion("the defense costs under 10%", LARGE, "binary", f"{UNDEFENDED} binary", 1.1, True),
)


class Verdict(NamedTuple):
    """A criterion for one defense and a number of clients."""

    criterion: Criterion
    server: str
    clients: int
    ratio: Ratio
    """Our median relative to theirs."""

    @property
    def is_control(self) -> bool:
        """Whether this is no verdict but what two equal processes differ by."""
        return self.server == CONTROL

    @property
    def met(self) -> bool:
        """Whether the ratio is within the bound; the interval says how sure that is."""
        return self.ratio.value <= self.criterion.at_most

    def words(self) -> str:
        """Return the verdict."""
        if self.is_control:
            return "-"
        return "met" if self.met else "not met"


def judge(workload: Workload, clients: int, rounds: Rounds) -> list[Verdict]:
    """Return the verdicts that a case allows, each defense by itself."""
    verdicts = []
    for criterion in CRITERIA:
        if criterion.workload != workload:
            continue
        servers = [defended(name) for name in DEFENSES]
        for server in [*servers, *([CONTROL] if criterion.controlled else [])]:
            found = ratio(rounds[f"{server} {criterion.ours}"], rounds[criterion.theirs], np.median)
            verdicts.append(Verdict(criterion, server, clients, found))
    return verdicts
