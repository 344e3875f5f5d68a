"""Direction and threshold come from the shadows, success never falls below one half."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynaserve.mia import metrics
from dynaserve.mia.attacks import Attack
from dynaserve.mia.attacks.thresholds import Confidence, Entropy, Loss
from dynaserve.mia.intervals import best_accuracy_interval, tpr_interval
from dynaserve.mia.judging import Judge, Reading

MEMBER = np.array([1, 1, 1, 0, 0, 0], bool)
SHADOWS = np.array([[1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1]], bool)
LABELS = np.array([0, 0, 0, 0, 0, 0])


def judge(shadows: Any = SHADOWS, labels: Any = LABELS, **options: Any) -> Judge:
    arguments = {"knows_defense": True, "bootstrap": 0, "seed": 0} | options
    return Judge(labels, MEMBER, shadows, **arguments)


def reading(
    target: list[float], shadows: Any = SHADOWS * 1.0, attack: Attack | None = None
) -> Reading:
    return Reading.of(attack or Loss(), "as released", np.stack([target, *shadows]))


def test_the_threshold_is_the_shadows_not_the_targets() -> None:
    # Shadows put it at .5; the target's own best would lie above .8.
    result = judge().result("loss", "1", reading([0.9, 0.9, 0.9, 0.8, 0.2, 0.2]))
    assert result.threshold_from == "shadows"
    assert result.balanced_accuracy == pytest.approx((1 + 2 / 3) / 2)
    assert result.best_balanced_accuracy == 1
    assert result.auc == 1


def test_the_direction_is_the_shadows_not_the_targets() -> None:
    reversed_shadows = 1.0 - SHADOWS
    result = judge().result("loss", "1", reading([0, 0, 0, 1, 1, 1], reversed_shadows))
    assert result.reversed
    assert (result.auc, result.balanced_accuracy) == (1, 1)
    misled = judge().result("loss", "1", reading([1, 1, 1, 0, 0, 0], reversed_shadows))
    assert misled.reversed
    assert (misled.auc, misled.balanced_accuracy) == (0, 0.5)


def test_without_shadows_the_better_direction_and_threshold_count() -> None:
    result = judge(None).result("loss", "1", Reading.of(Loss(), "", np.array([[0, 0, 0, 1, 1, 1]])))
    assert result.reversed
    assert (result.auc, result.balanced_accuracy, result.threshold_from) == (1, 1, "target")


def test_each_class_has_its_threshold_where_the_attack_says_so() -> None:
    labels = np.array([0, 0, 1, 1, 0, 1])
    # Class 1 lies 10 higher; within a class, members lie 1 higher.
    shadows = SHADOWS + 10.0 * labels
    target = MEMBER + 10.0 * labels
    per_class = judge(labels=labels).result(
        "confidence", "1", reading(target, shadows, Confidence())
    )
    single = judge(labels=labels).result("loss", "1", reading(target, shadows, Loss()))
    assert per_class.balanced_accuracy == 1
    assert single.balanced_accuracy < 1


def test_the_paper_fixes_thresholds_and_directions() -> None:
    blind = judge(knows_defense=False)
    logit = [2.0, 2.0, 2.3, 0.5, 0.4, 0.3]  # p_y of .88, .88, .91, .62, .60, .57
    confidence = blind.result("confidence", "1", reading(logit, attack=Confidence()))
    assert confidence.threshold_from == "paper"
    assert confidence.balanced_accuracy == pytest.approx((1 / 3 + 1) / 2)
    loss = blind.result("loss", "1", reading(logit))  # losses .13, .13, .10, .47, .51, .55
    assert loss.balanced_accuracy == pytest.approx((1 + 1 - 1 / 3) / 2)
    entropy = blind.result("entropy", "1", reading([0, 0, 0, 1, 1, 1], attack=Entropy()))
    assert (entropy.threshold_from, entropy.reversed, entropy.auc) == ("shadows", False, 0)
    assert entropy.balanced_accuracy == 0.5


def test_intervals_hold_the_value_and_narrow_with_rows() -> None:
    rng = np.random.default_rng(0)
    widths = []
    for rows in (100, 1600):
        member = np.arange(rows) < rows // 2
        shadows = np.stack([member, ~member])
        scores = rng.normal(size=(3, rows)) + np.stack([member, *shadows])
        one = Judge(
            np.zeros(rows, int), member, shadows, knows_defense=True, bootstrap=200, seed=0
        ).result("loss", "1", Reading.of(Loss(), "", scores))
        for name in ("auc", "balanced_accuracy", "tpr_at_1pct_fpr", "tpr_at_01pct_fpr"):
            low, high = getattr(one, f"{name}_interval")
            assert low <= getattr(one, name) <= high
        widths.append(one.auc_interval[1] - one.auc_interval[0])
        assert one.tpr_at_1pct_fpr_meaningful == (rows == 1600)
        assert not one.tpr_at_01pct_fpr_meaningful
    assert widths[1] < widths[0] / 2


def test_no_resamples_leave_the_whole_range() -> None:
    result = judge().result("loss", "1", reading([1, 1, 1, 0, 0, 0]))
    assert result.auc_interval == (0, 1)
    assert result.balanced_accuracy_interval == (0.5, 1)


def test_intervals_of_rates_and_of_the_best_threshold_allow_for_what_resamples_hide() -> None:
    rng = np.random.default_rng(4)
    member = np.arange(2000) < 1000
    scores = rng.normal(size=(1, 2000)) + member
    one = Judge(np.zeros(2000, int), member, None, knows_defense=True, bootstrap=200, seed=3)
    result = one.result("loss", "1", Reading.of(Loss(), "", scores))
    kept = Reading.of(Loss(), "", scores).scores[0]
    assert result.tpr_at_1pct_fpr_interval == tpr_interval(kept, member, 0.01, seed=3)
    assert result.tpr_at_01pct_fpr_interval == tpr_interval(kept, member, 0.001, seed=3)
    weights = metrics.resample_counts(member, 200, np.random.default_rng(3))
    resampled = metrics.roc_curve(kept, member, weights).balanced_accuracy().max(axis=-1)
    expected = best_accuracy_interval(result.best_balanced_accuracy, resampled, member)
    assert result.best_balanced_accuracy_interval == pytest.approx(expected)


def test_shadows_that_know_all_rows_or_none_teach_no_threshold() -> None:
    shadows = np.array([[1] * 6, [0] * 6], bool)
    one = Judge(LABELS, MEMBER, shadows, knows_defense=True, bootstrap=0, seed=0)
    result = one.result("loss", "1", reading([3, 2, 1, 0, -1, -2], 1.0 * shadows))
    assert not one.learns
    assert (result.auc, result.threshold_from) == (1.0, "target")
