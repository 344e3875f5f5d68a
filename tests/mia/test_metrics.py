"""Curves, thresholds and MIDPUT against closed forms, scikit-learn and sums done by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from dynaserve.mia import metrics


def member(*flags: int) -> np.ndarray:
    return np.array(flags, bool)


def test_two_unit_normals_at_a_distance_have_the_closed_form() -> None:
    rng = np.random.default_rng(0)
    inside = np.arange(40_000) < 20_000
    scores = rng.normal(size=40_000) + 1.5 * inside
    assert metrics.roc_auc(scores, inside) == pytest.approx(norm.cdf(1.5 / math.sqrt(2)), abs=0.006)
    assert metrics.tpr_at_fpr(scores, inside, 0.01) == pytest.approx(
        norm.sf(norm.isf(0.01) - 1.5), abs=0.03
    )
    assert metrics.best_balanced_accuracy(scores, inside) == pytest.approx(
        norm.cdf(0.75), abs=0.006
    )


def test_tied_scores_count_half() -> None:
    # Pairs: (9, 9) tie, (9, 5) won, (5, 9) lost, (5, 5) tie.
    assert metrics.roc_auc([9, 9, 5, 5], member(1, 0, 1, 0)) == 0.5
    assert metrics.roc_auc([1, 1, 1], member(1, 0, 0)) == 0.5


@given(
    st.lists(
        st.tuples(st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 2.0, math.inf]), st.booleans()),
        min_size=2,
        max_size=30,
    ).filter(lambda rows: len({flag for _, flag in rows}) == 2)
)
def test_auc_is_the_count_of_pairs_whatever_ties_and_infinities(
    rows: list[tuple[float, bool]],
) -> None:
    scores, flags = (np.array(column) for column in zip(*rows, strict=True))
    won = [1.0 if a > b else 0.5 if a == b else 0.0 for a in scores[flags] for b in scores[~flags]]
    assert metrics.roc_auc(scores, flags) == pytest.approx(sum(won) / len(won))
    assert metrics.roc_auc(-scores, ~flags) == pytest.approx(sum(won) / len(won))


def test_reversed_scores_are_not_turned_round() -> None:
    assert metrics.roc_auc([1.0, 2.0, 3.0], member(1, 0, 0)) == 0.0


def test_it_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    flags = rng.random(500) < 0.3
    scores = np.round(rng.normal(size=500) + flags, 1)
    assert metrics.roc_auc(scores, flags) == pytest.approx(roc_auc_score(flags, scores))


def test_a_low_fpr_takes_whole_groups_of_ties_only() -> None:
    # Above 3: one of two members. The group at 3 holds a member and one of 4 non-members.
    scores = [5, 3, 3, 1, 1, 1]
    flags = member(1, 1, 0, 0, 0, 0)
    assert metrics.tpr_at_fpr(scores, flags, 0.2) == 0.5
    assert metrics.tpr_at_fpr(scores, flags, 0.25) == 1.0


def test_no_member_above_the_first_non_member_is_a_tpr_of_zero() -> None:
    assert metrics.tpr_at_fpr([1.0, 2.0], member(1, 0), 0.001) == 0.0


def test_rates_rise_from_zero_to_one() -> None:
    curve = metrics.roc_curve([0.3, math.inf, -math.inf, 0.3, 7.0], member(1, 0, 1, 0, 1))
    assert curve.thresholds.tolist() == [math.inf, 7.0, 0.3, -math.inf]
    np.testing.assert_allclose(curve.fpr, [0, 0.5, 0.5, 1, 1])
    np.testing.assert_allclose(curve.tpr, [0, 0, 1 / 3, 2 / 3, 1])


def test_the_best_threshold_lies_between_scores() -> None:
    curve = metrics.roc_curve([4.0, 3.0, 1.0, 0.0], member(1, 1, 0, 0))
    assert curve.best_threshold() == 2.0
    useless = metrics.roc_curve([0.0, 0.0], member(1, 0))
    assert useless.balanced_accuracy().max() == 0.5


def test_the_best_threshold_beside_an_infinity_is_a_score() -> None:
    curve = metrics.roc_curve([4.0, -math.inf], member(1, 0))
    assert curve.best_threshold() == 4.0


def test_the_best_threshold_between_infinities_is_the_upper_one() -> None:
    # Half way between them is no number, and computing it would warn.
    curve = metrics.roc_curve([math.inf, -math.inf], member(1, 0))
    assert curve.best_threshold() == math.inf
    assert metrics.roc_curve([1e308, -1e308], member(1, 0)).best_threshold() == 0.0


@pytest.mark.parametrize(
    ("scores", "flags", "message"),
    [
        ([0.0, math.nan], [True, False], "row 1 is NaN"),
        ([0.0, 1.0], [True, True], "both members and non-members"),
        ([0.0, 1.0], [1, 0], "needs booleans"),
        ([0.0], [True, False], "same shape"),
    ],
)
def test_wrong_input_is_named(scores: list[float], flags: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metrics.roc_curve(scores, flags)


def test_thinned_points_keep_the_ends_and_the_area() -> None:
    rng = np.random.default_rng(2)
    flags = np.arange(5000) < 2500
    curve = metrics.roc_curve(rng.normal(size=5000) + flags, flags)
    points = curve.points(200)
    assert len(points.fpr) <= 202
    assert (points.fpr[0], points.tpr[0]) == (0, 0)
    assert (points.fpr[-1], points.tpr[-1]) == (1, 1)
    assert trapezoid(points.tpr, points.fpr) == pytest.approx(float(curve.auc()), abs=0.005)


def test_rounding_ties_what_differs_by_rounding_only() -> None:
    a = np.array([0.1 + 0.2, 0.3, 1.0, -2.0])
    assert metrics.rounded(a)[0] == metrics.rounded(a)[1]
    noise = np.array([1e-17, -3e-17, 0.0, 5.0, -4.0, 6.0])
    assert np.unique(metrics.rounded(noise)[:3]).size == 1


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=20))
def test_rounding_never_changes_an_order(values: list[float]) -> None:
    kept = metrics.rounded(np.sort(np.array(values)))
    assert (kept[1:] >= kept[:-1]).all()


def test_rounding_stays_among_the_finite_numbers() -> None:
    most = np.finfo(float).max
    scores = np.array([-most, most, most * (1 - 1e-13), most * (1 - 1e-8), 5e-324])
    kept = metrics.rounded(scores)
    assert np.isfinite(kept).all()
    assert kept[1] == kept[2] == -kept[0] > kept[3] > kept[4] == 0
    np.testing.assert_allclose(kept[:4], scores[:4], rtol=1e-8)


def test_rounding_keeps_outliers_from_tying_the_rest() -> None:
    scores = np.array([1.0, 1.001, 1e60, -math.inf, math.inf])
    assert np.unique(metrics.rounded(scores)).size == 5


def test_bootstrap_weights_redraw_each_group_and_count_as_copies() -> None:
    rng = np.random.default_rng(3)
    flags = np.arange(50) < 20
    weights = metrics.resample_counts(flags, 30, rng)
    assert (weights[:, flags].sum(axis=1) == 20).all()
    assert (weights[:, ~flags].sum(axis=1) == 30).all()
    scores = np.round(rng.normal(size=50), 1)
    whole = metrics.roc_curve(scores, flags, weights)
    for draw in range(30):
        copies = np.repeat(np.arange(50), weights[draw].astype(int))
        single = metrics.roc_curve(scores[copies], flags[copies])
        assert whole.auc()[draw] == pytest.approx(float(single.auc()))
        assert whole.tpr_at(0.1)[draw] == pytest.approx(float(single.tpr_at(0.1)))
        assert whole.balanced_accuracy()[draw].max() == pytest.approx(
            single.balanced_accuracy().max()
        )


def test_bootstrap_interval_has_the_width_of_the_standard_error() -> None:
    rng = np.random.default_rng(4)
    flags = np.arange(2000) < 1000
    scores = rng.normal(size=2000) + flags
    draws = metrics.roc_curve(scores, flags, metrics.resample_counts(flags, 400, rng)).auc()
    low, high = metrics.interval(draws)
    # Hanley & McNeil, 1982.
    a = metrics.roc_auc(scores, flags)
    q1, q2 = a / (2 - a), 2 * a * a / (1 + a)
    error = math.sqrt((a * (1 - a) + 999 * (q1 - a * a) + 999 * (q2 - a * a)) / 1e6)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.2)


def test_midput_is_the_fall_of_success_less_the_fall_of_accuracy() -> None:
    before = {"loss": 0.62, "entropy": 0.60, "only_before": 0.9}
    after = {"loss": 0.52, "entropy": 0.57}
    total, each = metrics.midput(before, after, 0.80, 0.79)
    assert each == pytest.approx({"loss": 0.09, "entropy": 0.02})
    assert total == pytest.approx(0.055)


def test_midput_never_counts_success_below_one_half() -> None:
    total, _ = metrics.midput({"loss": 0.6}, {"loss": 0.2}, 0.8, 0.8)
    assert total == pytest.approx(0.1)


def test_midput_of_the_papers_own_figures() -> None:
    # CIFAR-10, DynaNoise, 2nd version: four attacks.
    before = {"confidence": 0.6124, "loss": 0.6180, "shadow": 0.6387, "lira_online": 0.6097}
    after = {"confidence": 0.5014, "loss": 0.5219, "shadow": 0.5053, "lira_online": 0.5342}
    total, _ = metrics.midput(before, after, 0.7875, 0.7807)
    assert total == pytest.approx(0.097, abs=0.0005)


def test_midput_without_a_shared_attack_is_refused() -> None:
    with pytest.raises(ValueError, match="no attack"):
        metrics.midput({"a": 0.6}, {"b": 0.6}, 1, 1)


def test_calibration_error_by_hand() -> None:
    # Both in the bin of .9: mean confidence .9, accuracy .5; weight 1.
    p = np.array([[0.9, 0.1], [0.9, 0.1]])
    assert metrics.calibration_error(p, np.array([0, 1])) == pytest.approx(0.4)
    assert metrics.calibration_error(np.array([[1.0, 0.0]]), np.array([0])) == 0.0


def test_how_many_non_members_a_low_fpr_takes() -> None:
    flags = np.zeros(1001, bool)
    flags[0] = True
    assert metrics.enough_for(0.001, flags)
    assert not metrics.enough_for(0.001, flags[:1000])
    assert metrics.enough_for(0.01, flags[:101])


def test_calibration_error_by_chance_is_the_sampling_error_of_one_bin() -> None:
    """All confidences .8: |mean of n Bernoulli - .8|, half normal of sd sqrt(.16 / n)."""
    p = np.tile([0.8, 0.2], (400, 1))
    low, median, high = metrics.calibration_error_by_chance(p, draws=4000)
    sd = 0.4 / 20
    assert median == pytest.approx(0.6745 * sd, abs=0.0026)  # a multiple of 1/400
    assert low < 0.1 * sd + 0.0026
    assert high == pytest.approx(1.96 * sd, rel=0.08)


def test_certain_answers_have_no_calibration_error_by_chance() -> None:
    assert metrics.calibration_error_by_chance(np.array([[1.0, 0.0]] * 5)) == (0.0, 0.0, 0.0)
