"""Audits made by hand: their numbers are chosen, so that reports can be checked to the digit."""

from __future__ import annotations

from collections.abc import Iterable

from dynaserve.defenses import Undefended
from dynaserve.mia.results import AttackResult, Audit, RocPoints, clear_auc, leaks

LABEL_ATTACKS = ("gap", "label_lira")


def result(attack: str, auc: float, form: str = "1", *, non_members: int = 2000) -> AttackResult:
    """Return a result of which everything follows from the AUC."""
    found = round(auc - 0.4, 3)
    return AttackResult(
        attack=attack,
        form=form,
        access="label" if attack in LABEL_ATTACKS else "scores",
        auc=auc,
        auc_interval=(auc - 0.01, auc + 0.02),
        balanced_accuracy=auc - 0.05,
        balanced_accuracy_interval=(auc - 0.06, auc - 0.04),
        best_balanced_accuracy=auc - 0.03,
        best_balanced_accuracy_interval=(auc - 0.04, auc - 0.02),
        tpr_at_1pct_fpr=found,
        tpr_at_1pct_fpr_interval=(0.0, 1.0),
        tpr_at_1pct_fpr_meaningful=non_members >= 100,
        tpr_at_01pct_fpr=found / 2,
        tpr_at_01pct_fpr_interval=(0.0, 1.0),
        tpr_at_01pct_fpr_meaningful=non_members >= 1000,
        threshold_from="shadows",
        reversed=False,
        view="as released",
        roc=RocPoints((0.0, 0.01, 1.0), (0.0, found, 1.0)),
    )


def made_audit(
    before: Iterable[AttackResult],
    after: Iterable[AttackResult] | None = None,
    *,
    non_members: int = 2000,
    protocol: str = "adaptive",
    not_tested: tuple[str, ...] = ("The moon.",),
    defense: str = "RankTemplate: made up",
) -> Audit:
    """Return an audit of those results; without ``after`` one of the bare model."""
    attacks_before = {one.name: one for one in before}
    attacks = attacks_before if after is None else {one.name: one for one in after}
    return Audit(
        defense=Undefended().describe() if after is None else defense,
        protocol=protocol,
        seed=3,
        members=1500,
        non_members=non_members,
        classes=10,
        shadows=16,
        accuracy_before=0.8,
        accuracy_after=0.8 if after is None else 0.79,
        member_accuracy_before=0.97,
        member_accuracy_after=0.96,
        calibration_error_before=0.12,
        calibration_error_after=0.12 if after is None else 0.02,
        midput=0.0 if after is None else 0.137,
        midput_by_attack={},
        attacks_before=attacks_before,
        attacks=attacks,
        leak_before=leaks(attacks_before, clear_auc(len(attacks_before), 1500, non_members)),
        leak=leaks(attacks, clear_auc(len(attacks), 1500, non_members)),
        not_tested=not_tested,
    )


def defended_audit(**options) -> Audit:
    """Return an audit in which near-duplicates undo part of what the defense did."""
    before = [
        result("gap", 0.60),
        result("label_lira", 0.62),
        result("loss", 0.75),
        result("lira_online", 0.90),
        result("lira_offline", 0.85),
        result("gap", 0.63, "near50"),
        result("label_lira", 0.66, "near50"),
        result("loss", 0.74, "near50"),
        result("lira_online", 0.91, "near50"),
        result("lira_offline", 0.84, "near50"),
    ]
    after = [
        result("gap", 0.60),
        result("label_lira", 0.62),
        result("loss", 0.61),
        result("lira_online", 0.64),
        result("lira_offline", 0.63),
        result("gap", 0.63, "near50"),
        result("label_lira", 0.66, "near50"),
        result("loss", 0.62, "near50"),
        result("lira_online", 0.68, "near50"),
        result("lira_offline", 0.70, "near50"),
    ]
    return made_audit(before, after, **options)
