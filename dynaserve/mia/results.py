"""What an audit found: plain numbers that reports, gates and tables read.

Everything here is frozen and can become JSON. It may compute nothing from rows; it only says
which of the numbers is the worst one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

Interval: TypeAlias = tuple[float, float]
"""Low and high end of a 95% interval."""

Access: TypeAlias = Literal["label", "scores"]
"""What of an answer an attack reads: its top-1 label alone, or its scores as well."""

Protocol: TypeAlias = Literal["adaptive", "paper"]
"""Whether the attackers know the defense."""

ONE_QUERY = "1"
"""The form in which each row is asked once."""

_FALSE_ALARMS = 0.05
"""In so many audits of models that leak nothing, something may be called a leak."""


@dataclass(frozen=True)
class RocPoints:
    """A curve thinned for plots: false and true positive rates, both rising from 0 to 1."""

    fpr: tuple[float, ...]
    tpr: tuple[float, ...]


@dataclass(frozen=True)
class AttackResult:
    """How well one attack told members from non-members.

    Parameters
    ----------
    attack
        A name of the registry, such as ``lira_online``.
    form
        How often each row was asked: ``"1"``, ``"100"`` for 100 repeats, ``"near50"`` for 50
        near-duplicates.
    access
        Whether the attack reads more than the label.
    auc
        Area under the ROC curve in the direction that the shadows taught the attacker; without
        shadows in the better one of the two.
    balanced_accuracy
        Half of TPR + TNR at the attacker's threshold, never below 0.5.
    best_balanced_accuracy
        The same at the best single threshold for this very target, or the attacker's own if
        that does better: a bound for attackers with better shadows.
    tpr_at_1pct_fpr, tpr_at_01pct_fpr
        The highest TPR at an FPR of at most 1% and 0.1%.
    tpr_at_1pct_fpr_meaningful, tpr_at_01pct_fpr_meaningful
        Whether there are the 100 and 1,000 non-members without which it means nothing.
    threshold_from
        ``shadows``, ``target`` (the best threshold, for want of shadows) or ``paper`` (fixed).
    reversed
        Whether low scores turned out to mean members.
    view
        How the answers were read, in words; the strongest way of those tried.
    """

    attack: str
    form: str
    access: Access
    auc: float
    auc_interval: Interval
    balanced_accuracy: float
    balanced_accuracy_interval: Interval
    best_balanced_accuracy: float
    best_balanced_accuracy_interval: Interval
    tpr_at_1pct_fpr: float
    tpr_at_1pct_fpr_interval: Interval
    tpr_at_1pct_fpr_meaningful: bool
    tpr_at_01pct_fpr: float
    tpr_at_01pct_fpr_interval: Interval
    tpr_at_01pct_fpr_meaningful: bool
    threshold_from: Literal["shadows", "target", "paper"]
    reversed: bool
    view: str
    roc: RocPoints

    @property
    def name(self) -> str:
        """The key in `Audit.attacks`: the attack, then ``@form`` unless it is one query."""
        return self.attack if self.form == ONE_QUERY else f"{self.attack}@{self.form}"


@dataclass(frozen=True)
class Leak:
    """The leak of one form of asking, in AUC, split in two.

    Parameters
    ----------
    form
        As in `AttackResult`.
    floor, floor_attack
        The best attack on the bare label. Only training can lower it.
    total, total_attack
        The best attack of all; at least the floor.
    dominant
        ``label`` or ``scores``, whichever part is the larger; ``none`` if the total may be what
        the luckiest of so many attacks has by chance (`clear_auc`).
    """

    form: str
    floor: float
    floor_attack: str
    total: float
    total_attack: str
    dominant: Literal["label", "scores", "none"]

    @property
    def scores_add(self) -> float:
        """What the released scores add on top of the label: what a defense can remove."""
        return self.total - self.floor


def leaks(attacks: Mapping[str, AttackResult], clear: float) -> dict[str, Leak]:
    """Return the leak of each form of asking that was tried, in their order.

    Parameters
    ----------
    clear
        The AUC above which there is a leak at all, of `clear_auc`.
    """
    forms = dict.fromkeys(result.form for result in attacks.values())
    return {form: _leak([r for r in attacks.values() if r.form == form], clear) for form in forms}


def clear_auc(attacks: int, members: int, non_members: int) -> float:
    """Return the AUC that the best of so many attacks on no leak at all rarely exceeds: 1 in 20.

    Without a leak the AUC is about normal around one half, and `auc_spread` its deviation, or less
    if scores are tied. Over several attacks by Bonferroni, as if each could choose its direction.

    Parameters
    ----------
    attacks
        How many results there are that could differ: at least, since each is already the best of
        several ways to read the answers, chosen on the shadows.
    """
    over_chance = NormalDist().inv_cdf(1 - _FALSE_ALARMS / (2 * attacks))
    return 0.5 + auc_spread(members, non_members) * over_chance


def auc_spread(members: int, non_members: int) -> float:
    """Return the standard deviation of the AUC of a model that leaks nothing, without ties.

    sqrt((m + n + 1) / (12 m n)), that of U / (m n) (Mann and Whitney, 1947).
    """
    return math.sqrt((members + non_members + 1) / (12 * members * non_members))


def _leak(results: list[AttackResult], clear: float) -> Leak:
    label = max((r for r in results if r.access == "label"), key=lambda r: r.auc)
    worst = max(results, key=lambda r: (r.auc, r.access == "label"))
    dominant: Literal["label", "scores", "none"] = "scores"
    if worst.auc <= clear:
        dominant = "none"
    elif label.auc - 0.5 >= worst.auc - label.auc:
        dominant = "label"
    return Leak(worst.form, label.auc, label.name, worst.auc, worst.name, dominant)


@dataclass(frozen=True)
class Audit:
    """All that an audit measured of one target model, before and after its defense.

    Parameters
    ----------
    defense
        In the defense's own words.
    protocol
        ``adaptive``: the attackers know the defense. ``paper``: they do not.
    members, non_members, classes, shadows
        How many of each the audit had.
    accuracy_before, accuracy_after
        On non-members, one query each.
    member_accuracy_before, member_accuracy_after
        The same on members.
    calibration_error_before, calibration_error_after
        Expected calibration error of the top class on non-members, 15 bins.
    midput, midput_by_attack
        Mean over the paper's attacks, and for each, of the fall in balanced accuracy minus the
        fall in accuracy. Both sides count the strongest form of asking that was tried.
    attacks_before, attacks
        Results without and with the defense, by `AttackResult.name`.
    leak_before, leak
        The split of each form of asking, by form.
    not_tested
        What was left out, and why, a sentence each.
    """

    defense: str
    protocol: Protocol
    seed: int
    members: int
    non_members: int
    classes: int
    shadows: int
    accuracy_before: float
    accuracy_after: float
    member_accuracy_before: float
    member_accuracy_after: float
    calibration_error_before: float
    calibration_error_after: float
    midput: float
    midput_by_attack: dict[str, float]
    attacks_before: dict[str, AttackResult]
    attacks: dict[str, AttackResult]
    leak_before: dict[str, Leak]
    leak: dict[str, Leak]
    not_tested: tuple[str, ...]

    @property
    def worst_before(self) -> AttackResult:
        """The attack with the highest AUC without the defense, over all forms of asking."""
        return max(self.attacks_before.values(), key=lambda result: result.auc)

    @property
    def worst(self) -> AttackResult:
        """The attack with the highest AUC against the defense, over all forms of asking."""
        return max(self.attacks.values(), key=lambda result: result.auc)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, numbers and strings, ready for JSON."""
        return asdict(self) | {
            "leak_before": {form: _leak_dict(leak) for form, leak in self.leak_before.items()},
            "leak": {form: _leak_dict(leak) for form, leak in self.leak.items()},
        }


def _leak_dict(leak: Leak) -> dict[str, Any]:
    return asdict(leak) | {"scores_add": leak.scores_add}
