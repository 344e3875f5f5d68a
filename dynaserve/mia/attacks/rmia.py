"""The robust attack (RMIA): a row that gains more over its average than others is a member.

Zarifzadeh et al., "Low-Cost High-Power Membership Inference Attacks", 2024.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dynaserve.mia.attacks.evidence import Attack, Evidence, Mask, mean
from dynaserve.mia.signals import Floats

_LEAST = 1e-12
"""Added above and below: a row that no model gives any probability gains nothing."""


@dataclass(frozen=True)
class RmiaOnline(Attack):
    """``mean over z of [r(x) / r(z) > gamma]``, r = p_y / p, p = (mean_in + mean_out) / 2.

    The other rows z are those of the audit. gamma = 1, as in the authors' current code; the
    paper's 2 ties all rows of small gain, which costs power and gains none. A ``temperature``
    above 1 (the paper: 2 for CIFAR-10) tells apart the members of a model that is sure of all.
    """

    temperature: float = 1.0
    gamma: float = 1.0

    def scores(self, evidence: Evidence) -> Floats:
        """Return the share of rows that gain less."""
        return evidence.per_model(self._share, evidence.own_probability(self.temperature))

    def _share(self, p: Floats, shadows: Floats, inside: Mask, outside: Mask) -> Floats:
        average = (mean(shadows, inside) + mean(shadows, outside)) / 2
        return _share_below((p + _LEAST) / (average + _LEAST), self.gamma)


@dataclass(frozen=True)
class RmiaOffline(Attack):
    """The same with p = ((1 + a) mean_out + 1 - a) / 2: no shadow was trained on the row.

    ``a`` says how far a model's average with a row lies from that without (equation 13). The mean
    is over all shadows without the row.
    """

    offline: ClassVar[bool] = True
    a: float = 0.3
    temperature: float = 1.0
    gamma: float = 1.0

    def scores(self, evidence: Evidence) -> Floats:
        """Return the share of rows that gain less."""
        return evidence.per_model_offline(self._share, evidence.own_probability(self.temperature))

    def _share(self, p: Floats, shadows: Floats, outside: Mask) -> Floats:
        average = ((1 + self.a) * mean(shadows, outside) + 1 - self.a) / 2
        return _share_below((p + _LEAST) / (average + _LEAST), self.gamma)


def _share_below(gain: Floats, gamma: float) -> Floats:
    """Return for each row which share of rows z has gain(x) / gain(z) > gamma."""
    # Nine digits: sums over other shadows round differently, and equal gains must tie.
    coarse = np.round(np.log(gain), 9)
    below = np.searchsorted(np.sort(coarse), coarse - np.round(np.log(gamma), 9), side="left")
    return np.asarray(below / len(gain))
