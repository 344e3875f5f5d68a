"""Names, the split of the leak, and JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynaserve.mia.metrics import roc_auc
from dynaserve.mia.results import AttackResult, RocPoints, clear_auc, leaks


def result(attack: str, auc: float, access: Any = "scores", form: str = "1") -> AttackResult:
    return AttackResult(
        attack=attack,
        form=form,
        access=access,
        auc=auc,
        auc_interval=(auc - 0.03, auc + 0.03),
        balanced_accuracy=0.6,
        balanced_accuracy_interval=(0.5, 0.7),
        best_balanced_accuracy=0.6,
        best_balanced_accuracy_interval=(0.5, 0.7),
        tpr_at_1pct_fpr=0.1,
        tpr_at_1pct_fpr_interval=(0.0, 0.2),
        tpr_at_1pct_fpr_meaningful=True,
        tpr_at_01pct_fpr=0.0,
        tpr_at_01pct_fpr_interval=(0.0, 0.1),
        tpr_at_01pct_fpr_meaningful=False,
        threshold_from="shadows",
        reversed=False,
        view="as released",
        roc=RocPoints((0.0, 1.0), (0.0, 1.0)),
    )


def split(*results: AttackResult, rows: int = 1000) -> Any:
    return leaks({one.name: one for one in results}, clear_auc(len(results), rows, rows))


def test_one_query_has_no_suffix() -> None:
    assert result("lira_online", 0.6).name == "lira_online"
    assert result("lira_online", 0.6, form="100").name == "lira_online@100"
    assert result("lira_online", 0.6, form="near50").name == "lira_online@near50"


def test_the_floor_is_the_best_label_attack_of_the_same_form() -> None:
    found = split(
        result("gap", 0.60, "label"),
        result("label_lira", 0.65, "label"),
        result("lira_online", 0.90),
        result("gap", 0.80, "label", "near50"),
        result("boosted", 0.82, form="near50"),
    )
    assert list(found) == ["1", "near50"]
    one, near = found["1"], found["near50"]
    assert (one.floor, one.floor_attack, one.total, one.total_attack) == (
        0.65,
        "label_lira",
        0.90,
        "lira_online",
    )
    assert one.scores_add == pytest.approx(0.25)
    assert one.dominant == "scores"
    assert (near.floor_attack, near.total_attack, near.dominant) == (
        "gap@near50",
        "boosted@near50",
        "label",
    )


def test_scores_that_add_nothing_leave_the_floor_as_the_total() -> None:
    leak = split(result("gap", 0.7, "label"), result("loss", 0.6))["1"]
    assert (leak.total, leak.scores_add, leak.dominant) == (0.7, 0, "label")


def test_no_clear_leak_is_called_none() -> None:
    def dominant(auc: float, rows: int) -> str:
        both = split(result("gap", 0.50, "label"), result("loss", auc), rows=rows)
        return str(both["1"].dominant)

    assert (dominant(0.528, 1000), dominant(0.54, 1000)) == ("none", "scores")
    assert (dominant(0.54, 100), dominant(0.54, 10_000)) == ("none", "scores")
    assert dominant(1.0, 2) == "none"


def test_the_best_of_many_attacks_has_to_be_better_to_count() -> None:
    # sqrt(201 / 120,000) = .040927, times 1.959964 and, at 1 - .05 / 28, 2.913726
    assert clear_auc(1, 100, 100) == pytest.approx(0.580215, abs=1e-6)
    assert clear_auc(14, 100, 100) == pytest.approx(0.619249, abs=1e-5)


def test_audits_of_models_that_leak_nothing_rarely_find_something() -> None:
    rng = np.random.default_rng(0)
    member = np.arange(120) < 60
    clear = clear_auc(14, 60, 60)
    best = [
        max(roc_auc(scores, member) for scores in rng.normal(size=(14, 120))) for _ in range(300)
    ]
    alarms = np.mean(np.array(best) > clear)
    assert 0 < alarms < 0.06  # one-sided: about half of the 5%
