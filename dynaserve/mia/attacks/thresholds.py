"""Attacks by one statistic of the answer and a threshold; they can do without shadows.

Scores are logarithms where the statistic itself would round to a tie; that changes no ranking.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dynaserve.mia.attacks.evidence import Attack, Evidence
from dynaserve.mia.results import Access
from dynaserve.mia.signals import Floats


@dataclass(frozen=True)
class Confidence(Attack):
    """``p_y >= tau_c``, as log(p_y / (1 - p_y)), with a threshold for each class c.

    Song & Mittal, "Systematic Evaluation of Privacy Risks of Machine Learning Models", 2021,
    equation 2. The DynaNoise paper fixes tau = 0.9.
    """

    needs_shadows: ClassVar[bool] = False
    per_class: ClassVar[bool] = True
    paper_threshold: ClassVar[float | None] = math.log(0.9 / 0.1)

    def scores(self, evidence: Evidence) -> Floats:
        """Return log(p_y / (1 - p_y))."""
        return evidence.logit


@dataclass(frozen=True)
class Loss(Attack):
    """Cross-entropy ``-log p_y <= tau``, as log(p_y / (1 - p_y)), with one threshold.

    Yeom et al., "Privacy Risk in Machine Learning", 2018, adversary 2; here tau comes from the
    shadows, not from the mean training loss. The DynaNoise paper fixes tau = 0.5.
    """

    needs_shadows: ClassVar[bool] = False
    paper_threshold: ClassVar[float | None] = -0.5 - math.log(-math.expm1(-0.5))

    def scores(self, evidence: Evidence) -> Floats:
        """Return log(p_y / (1 - p_y)), which falls as the loss rises."""
        return evidence.logit


@dataclass(frozen=True)
class Entropy(Attack):
    """``H(p) <= tau_c``, as -log H, with a threshold for each class c.

    Song & Mittal 2021, equation 3.
    """

    needs_shadows: ClassVar[bool] = False
    per_class: ClassVar[bool] = True

    def scores(self, evidence: Evidence) -> Floats:
        """Return -log H."""
        return -evidence.log_entropy


@dataclass(frozen=True)
class ModifiedEntropy(Attack):
    """``Mentr(p, y) <= tau_c``, as -log Mentr, with a threshold for each class c.

    Song & Mittal 2021, equations 4 and 5.
    """

    needs_shadows: ClassVar[bool] = False
    per_class: ClassVar[bool] = True

    def scores(self, evidence: Evidence) -> Floats:
        """Return -log Mentr."""
        return -evidence.log_modified_entropy


@dataclass(frozen=True)
class Gap(Attack):
    """Right answers are members: ``1[label = y]``, or its share of several answers.

    Yeom et al. 2018, adversary 1. Its balanced accuracy is 1/2 + (training - test accuracy) / 2.
    """

    access: ClassVar[Access] = "label"
    needs_shadows: ClassVar[bool] = False
    paper_threshold: ClassVar[float | None] = 0.5

    def scores(self, evidence: Evidence) -> Floats:
        """Return the share of right answers."""
        return evidence.hits
