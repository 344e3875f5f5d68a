"""From an attack's scores to its result: direction, threshold, intervals.

The direction and the threshold are what the attacker could have learned on the shadows; the
target's own membership only decides where there are none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dynaserve.mia import intervals, metrics
from dynaserve.mia.attacks import Attack
from dynaserve.mia.results import Access, AttackResult, Interval, auc_spread
from dynaserve.mia.signals import Floats

Mask = NDArray[np.bool_]

_CLEAR = 2.5
"""So many standard deviations below one half, the mean AUC on the shadows is no accident."""


@dataclass(frozen=True)
class Reading:
    """The scores of one attack, from one way of reading the answers.

    Parameters
    ----------
    attack
        The variant that made them.
    view
        How the answers were read.
    scores
        (1 + S, n), rounded: equal ones are tied.
    access
        What of the answers it came from.
    """

    attack: Attack
    view: str
    scores: Floats
    access: Access

    @classmethod
    def of(cls, attack: Attack, view: str, scores: Floats, access: Access | None = None) -> Reading:
        """Return the scores with their ties mended, model by model."""
        mended = np.stack([metrics.rounded(one) for one in scores])
        return cls(attack, view, mended, access or attack.access)


class Judge:
    """Knows who was a member of what, and says how well scores show it.

    Parameters
    ----------
    labels, member
        (n,) and (n,): the target's.
    shadow_member
        (S, n), or None without shadows; as good as None if each knew all of the rows or none.
    knows_defense
        False for the paper's protocol: fixed thresholds where the paper has them, and the
        direction that the formula says.
    bootstrap
        How many resamples the intervals come from; 0 leaves them as wide as the range allows.
    seed
        Of the resamples.
    """

    def __init__(
        self,
        labels: NDArray[np.int64],
        member: Mask,
        shadow_member: Mask | None,
        *,
        knows_defense: bool,
        bootstrap: int,
        seed: int,
    ) -> None:
        if shadow_member is not None and not _tells(shadow_member):
            shadow_member = None
        self._labels, self._member, self._shadow_member = labels, member, shadow_member
        self._knows_defense, self._seed = knows_defense, seed
        self._by_chance = 0.0
        if shadow_member is not None:
            spread = auc_spread(int(member.sum()), int((~member).sum()))
            self._by_chance = _CLEAR * spread / math.sqrt(len(shadow_member))
        rng = np.random.default_rng(seed)
        self._weights = metrics.resample_counts(member, bootstrap, rng) if bootstrap else None

    @property
    def learns(self) -> bool:
        """Whether there are shadows that show which reading is best."""
        return self._shadow_member is not None

    def strength(self, reading: Reading, *, by_shadows: bool = True) -> float:
        """Return the AUC, turned to above one half, by which readings are compared."""
        auc = self._learned_auc(reading) if by_shadows else self._target_auc(reading)
        return max(auc, 1 - auc) if self._knows_defense else auc

    def result(self, name: str, form: str, reading: Reading) -> AttackResult:
        """Return the numbers of the report."""
        turned = self._turned(reading)
        scores = -reading.scores if turned else reading.scores
        curve = metrics.roc_curve(scores[0], self._member)
        said, threshold_from = self._decisions(reading.attack, scores, curve)
        success = metrics.balanced_accuracy(said, self._member)
        # A threshold for each class may do better than the best one for all.
        auc, best = float(curve.auc()), max(float(curve.balanced_accuracy().max()), success)
        at_1, at_01 = float(curve.tpr_at(0.01)), float(curve.tpr_at(0.001))
        spread = self._spread(scores[0], said, best)
        return AttackResult(
            attack=name,
            form=form,
            access=reading.access,
            auc=auc,
            auc_interval=spread["auc"],
            balanced_accuracy=max(success, 0.5),
            balanced_accuracy_interval=spread["success"],
            best_balanced_accuracy=best,
            best_balanced_accuracy_interval=spread["best"],
            tpr_at_1pct_fpr=at_1,
            tpr_at_1pct_fpr_interval=spread["at_1"],
            tpr_at_1pct_fpr_meaningful=metrics.enough_for(0.01, self._member),
            tpr_at_01pct_fpr=at_01,
            tpr_at_01pct_fpr_interval=spread["at_01"],
            tpr_at_01pct_fpr_meaningful=metrics.enough_for(0.001, self._member),
            threshold_from=threshold_from,
            reversed=turned,
            view=reading.view,
            roc=curve.points(),
        )

    def auc(self, reading: Reading) -> float:
        """Return the AUC of `result` alone."""
        auc = self._target_auc(reading)
        return 1 - auc if self._turned(reading) else auc

    def _turned(self, reading: Reading) -> bool:
        """Return whether the shadows say that low scores mean members.

        They have to say so clearly, where there are any: if they teach nothing, the direction is
        that of the formula and no toss of a coin.
        """
        return self._knows_defense and self._learned_auc(reading) < 0.5 - self._by_chance

    def _target_auc(self, reading: Reading) -> float:
        return metrics.roc_auc(reading.scores[0], self._member)

    def _learned_auc(self, reading: Reading) -> float:
        """Return the mean AUC on the shadows, or the target's if there are none."""
        if self._shadow_member is None:
            return self._target_auc(reading)
        pairs = zip(reading.scores[1:], self._shadow_member, strict=True)
        return float(np.mean([metrics.roc_auc(*pair) for pair in pairs if 0 < pair[1].mean() < 1]))

    def _decisions(
        self, attack: Attack, scores: Floats, curve: metrics.Curve
    ) -> tuple[Mask, Literal["shadows", "target", "paper"]]:
        if not self._knows_defense and attack.paper_threshold is not None:
            return scores[0] >= attack.paper_threshold, "paper"
        if self._shadow_member is None:
            return scores[0] >= curve.best_threshold(), "target"
        thresholds = np.full(len(self._labels), _fitted(scores[1:], self._shadow_member))
        if attack.per_class:
            for label in np.unique(self._labels):
                rows = self._labels == label
                inside = self._shadow_member[:, rows]
                if 0 < inside.mean() < 1:
                    thresholds[rows] = _fitted(scores[1:, rows], inside)
        return scores[0] >= thresholds, "shadows"

    def _spread(self, scores: Floats, said: Mask, best: float) -> dict[str, Interval]:
        weights, member = self._weights, self._member
        if weights is None:
            half, whole = (0.5, 1.0), (0.0, 1.0)
            return {"auc": whole, "success": half, "best": half, "at_1": whole, "at_01": whole}
        curves = metrics.roc_curve(scores, member, weights)
        hits = weights @ (said & member) / member.sum()
        alarms = weights @ (said & ~member) / (~member).sum()
        success = np.maximum((hits + 1 - alarms) / 2, 0.5)
        resampled = np.maximum(curves.balanced_accuracy().max(axis=-1), success)
        return {
            "auc": metrics.interval(curves.auc()),
            "success": metrics.interval(success),
            "best": intervals.best_accuracy_interval(best, resampled, member),
            "at_1": intervals.tpr_interval(scores, member, 0.01, seed=self._seed),
            "at_01": intervals.tpr_interval(scores, member, 0.001, seed=self._seed),
        }


def _tells(shadow_member: Mask) -> bool:
    """Return whether some shadow has both kinds of rows."""
    known = shadow_member.mean(axis=1)
    return bool(((known > 0) & (known < 1)).any())


def _fitted(scores: Floats, member: Mask) -> float:
    """Return the threshold of the best balanced accuracy over all shadows, (S, n) each."""
    return metrics.roc_curve(scores.ravel(), member.ravel()).best_threshold()
