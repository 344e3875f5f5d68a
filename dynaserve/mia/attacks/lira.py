"""The likelihood-ratio attack (LiRA): is a confidence more like models with the row or without.

Carlini et al., "Membership Inference Attacks From First Principles", 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dynaserve.mia.attacks.evidence import Attack, Evidence, Mask, deviation, mean, median
from dynaserve.mia.results import Access
from dynaserve.mia.signals import Floats

_LEAST_DEVIATION = 1e-6


@dataclass(frozen=True)
class LiraOnline(Attack):
    """``log N(phi; mu_in, s_in) - log N(phi; mu_out, s_out)``, phi = log(p_y / (1 - p_y)).

    Algorithm 1 with medians for mu, as in the authors' code. ``per_example`` takes the
    deviations from each row's own shadows; else, better with fewer than about 64 of them, from
    the residuals phi - mu of all rows.
    """

    per_example: bool = False

    def scores(self, evidence: Evidence) -> Floats:
        """Return the log-likelihood ratio."""
        return evidence.per_model(self._ratio, evidence.logit)

    def _ratio(self, phi: Floats, shadows: Floats, inside: Mask, outside: Mask) -> Floats:
        return _log_normal(phi, *_fit(shadows, inside, self.per_example)) - _log_normal(
            phi, *_fit(shadows, outside, self.per_example)
        )


@dataclass(frozen=True)
class LiraOffline(Attack):
    """``Phi((phi - mu_out) / s_out)``: how unusually confident for a model without the row.

    Equation 4, as the argument of Phi, which ranks alike and does not round to 1. Mean and
    deviation are those of all shadows without the row.
    """

    offline: ClassVar[bool] = True
    per_example: bool = False

    def scores(self, evidence: Evidence) -> Floats:
        """Return (phi - mu_out) / s_out."""
        return evidence.per_model_offline(self._distance, evidence.logit)

    def _distance(self, phi: Floats, shadows: Floats, outside: Mask) -> Floats:
        center, spread = _fit(shadows, outside, self.per_example)
        return (phi - center) / spread


@dataclass(frozen=True)
class LabelLira(Attack):
    """LiRA on whether the label is right: ``log P(hit | in) - log P(hit | out)``.

    The chances of a right answer are counted over the row's IN and OUT shadows and smoothed by
    half a right and half a wrong one. A share of right answers counts as so much of each.
    """

    access: ClassVar[Access] = "label"

    def scores(self, evidence: Evidence) -> Floats:
        """Return the log-likelihood ratio."""
        return evidence.per_model(self._ratio, evidence.hits)

    @staticmethod
    def _ratio(hit: Floats, shadows: Floats, inside: Mask, outside: Mask) -> Floats:
        p_in, p_out = _smoothed(shadows, inside), _smoothed(shadows, outside)
        return hit * np.log(p_in / p_out) + (1 - hit) * np.log((1 - p_in) / (1 - p_out))


@dataclass(frozen=True)
class LabelLiraGaussian(Attack):
    """LiRA with one deviation on the share of right answers, for many answers to each row."""

    access: ClassVar[Access] = "label"

    def scores(self, evidence: Evidence) -> Floats:
        """Return the log-likelihood ratio."""
        return evidence.per_model(self._ratio, evidence.hits)

    @staticmethod
    def _ratio(hit: Floats, shadows: Floats, inside: Mask, outside: Mask) -> Floats:
        center_in, center_out = mean(shadows, inside), mean(shadows, outside)
        residuals = shadows - np.where(inside, center_in, center_out)
        spread = max(float(np.sqrt(np.mean(residuals[inside | outside] ** 2))), _LEAST_DEVIATION)
        ratio = _log_normal(hit, center_in, spread) - _log_normal(hit, center_out, spread)
        return np.asarray(ratio)


def _smoothed(hits: Floats, mask: Mask) -> Floats:
    count = mask.sum(axis=0)
    return np.asarray((mean(hits, mask) * count + 0.5) / (count + 1))


def _fit(shadows: Floats, mask: Mask, per_example: bool) -> tuple[Floats, Floats | float]:
    center = median(shadows, mask)
    if per_example:
        return center, np.maximum(deviation(shadows, mask), _LEAST_DEVIATION)
    spread = float(np.std((shadows - center)[mask]))
    return center, max(spread, _LEAST_DEVIATION)


def _log_normal(value: Floats, center: Floats, spread: Floats | float) -> Floats:
    return np.asarray(-(((value - center) / spread) ** 2) / 2 - np.log(spread))
