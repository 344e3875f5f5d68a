"""Calibration against its formulas, written as loops over rows and ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaserve.defenses.rank_template.calibrate import (
    HeldOut,
    Template,
    calibrate_template,
    margins,
)


def held_out(n: int, classes: int, seed: int = 0, signal: float = 2.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    logits = rng.normal(size=(n, classes)) + signal * np.eye(classes)[labels]
    return np.round(logits, 1), labels


def literal_weights(z: Any, y: Any, ranks: int) -> tuple[list[float], float, float]:
    n, classes = z.shape
    counts = [0] * classes
    for row, label in zip(z, y, strict=True):
        order = sorted(range(classes), key=lambda j: (-row[j], j))
        counts[order.index(label)] += 1
    h = [(count + 1 / 2) / (n + classes / 2) for count in counts]
    for r in range(1, classes):
        h[r] = min(h[r], h[r - 1])
    below = h[ranks + 1 :]
    h = h[: ranks + 1] + [sum(below) / len(below) for _ in below]
    h[0] = max(h[0], h[1] + 0.01)
    total = sum(h)
    h = [value / total for value in h]
    w = [value / (1 - h[0]) for value in h[1:]]
    return w[:ranks], (w[ranks] if ranks < classes - 1 else 0.0), w[0]


def literal_confidence(z: Any, y: Any, w_1: float) -> list[float]:
    n, classes = z.shape
    predicted = [max(range(classes), key=lambda j: (row[j], -j)) for row in z]
    correct = [p == label for p, label in zip(predicted, y, strict=True)]
    a = (sum(correct) + 1) / (n + 2)
    confidence = []
    for c in range(classes):
        n_c = predicted.count(c)
        correct_c = sum(ok for ok, p in zip(correct, predicted, strict=True) if p == c)
        shrunk = (correct_c + 20 * a) / (n_c + 20)
        confidence.append(max(shrunk, (w_1 + 0.01) / (1 + w_1)))
    return confidence


@settings(max_examples=30)
@given(
    st.integers(300, 400),
    st.integers(2, 12),
    st.integers(1, 14),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1.0, 3.0, 50.0]),
)
def test_one_bucket_is_the_formulas(
    n: int, classes: int, ranks: int, seed: int, signal: float
) -> None:
    z, y = held_out(n, classes, seed, signal)
    template = calibrate_template(HeldOut.checked(z, y), ranks=ranks, buckets=1)
    weights, tail, w_1 = literal_weights(z, y, ranks)
    np.testing.assert_allclose(template.rank_weights, weights, rtol=1e-12)
    assert template.tail_weight == pytest.approx(tail, rel=1e-12)
    np.testing.assert_allclose(template.confidence, [literal_confidence(z, y, w_1)], rtol=1e-12)
    assert (template.low_margin, template.calibrated_on) == (None, n)


def test_two_buckets_are_the_same_formulas_on_each_buckets_rows() -> None:
    z, y = held_out(500, 6)
    template = calibrate_template(HeldOut.checked(z, y), ranks=2, buckets=2)
    margin = np.sort(z, axis=1)[:, -1] - np.sort(z, axis=1)[:, -2]
    threshold = np.quantile(margin, 0.05)
    assert template.low_margin == pytest.approx(threshold)
    low = margin <= threshold
    _, _, w_1 = literal_weights(z, y, 2)
    expected = [literal_confidence(z[rows], y[rows], w_1) for rows in (low, ~low)]
    np.testing.assert_allclose(template.confidence, expected, rtol=1e-12)
    assert max(template.confidence[0]) < min(template.confidence[1])


def test_ranks_of_the_true_label_break_ties_by_index() -> None:
    z = np.tile([1.0, 3.0, 1.0, 3.0, -np.inf], (300, 1))
    ranks = HeldOut.checked(z, np.arange(300) % 5).true_ranks()
    assert ranks[:5].tolist() == [2, 0, 3, 1, 4]


def test_a_confident_runner_up_still_leaves_the_label_on_top() -> None:
    z, y = held_out(300, 3)
    always_second = np.argsort(-z, axis=1)[:, 1]
    template = calibrate_template(HeldOut.checked(z, always_second), ranks=1, buckets=1)
    for p in template.confidence[0]:
        assert p > (1 - p) * template.rank_weights[0]
    assert y.shape == (300,)


def test_margins_are_of_the_two_highest_whatever_the_shape() -> None:
    z = np.array([[[1.0, 4.0, 2.5], [0.0, -np.inf, -np.inf]]], np.float16)
    assert margins(z).tolist() == [[1.5, np.inf]]
    assert margins(z[0, 0]) == 1.5


@pytest.mark.parametrize("labels", [np.int64, np.uint8, torch.int32])
def test_numpy_and_torch_are_taken(labels: Any) -> None:
    z, y = held_out(300, 4)
    expected = HeldOut.checked(z, y)
    converted = (
        torch.from_numpy(y).to(labels) if isinstance(labels, torch.dtype) else y.astype(labels)
    )
    got = HeldOut.checked(torch.from_numpy(z), converted)
    np.testing.assert_array_equal(got.logits, expected.logits)
    np.testing.assert_array_equal(got.labels, expected.labels)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 299}, "held_out_logits: needs at least 300 rows, got 299"),
        ({"logits": np.zeros(300)}, r"held_out_logits: needs shape \(n, K\), got \(300,\)"),
        ({"logits": np.zeros((300, 1))}, "at least 2 are needed"),
        ({"logits": np.zeros((300, 4), int)}, "held_out_logits: dtype int64"),
        ({"labels": np.zeros(299, int)}, r"held_out_labels: needs shape \(300,\), got \(299,\)"),
        ({"labels": np.zeros(300)}, "held_out_labels: needs integers, got dtype float64"),
        ({"labels": np.zeros(300, bool)}, "needs integers, got dtype bool"),
        ({"labels": np.arange(300) - 7}, r"held_out_labels: row 0 is not in 0\.\.3"),
        ({"labels": np.arange(300)}, r"held_out_labels: row 4 is not in 0\.\.3"),
    ],
)
def test_bad_data_is_named(change: dict[str, Any], message: str) -> None:
    z, y = held_out(change.get("n", 300), 4)
    with pytest.raises(ValueError, match=message):
        HeldOut.checked(change.get("logits", z), change.get("labels", y))


def test_a_row_without_a_softmax_is_named() -> None:
    z, y = held_out(300, 4)
    z[123, 2] = np.nan
    with pytest.raises(ValueError, match="row 123 holds NaN"):
        HeldOut.checked(z, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ranks": 0, "buckets": 1}, "ranks: must be at least 1, got 0"),
        ({"ranks": 3, "buckets": 3}, "buckets: must be 1 or 2, got 3"),
        ({"ranks": 128, "buckets": 1}, "ranks: at most 127 can be told apart, got 128"),
    ],
)
def test_bad_options_are_named(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        calibrate_template(HeldOut.checked(*held_out(300, 200)), **options)


def test_margins_that_are_all_alike_have_no_buckets() -> None:
    z = np.tile([2.0, 1.0, 0.0], (300, 1))
    with pytest.raises(ValueError, match="margins are all alike; use buckets=1"):
        calibrate_template(HeldOut.checked(z, np.zeros(300, int)), ranks=1, buckets=2)


GOOD = Template(
    confidence=((0.8, 0.7, 0.9, 0.8),),
    rank_weights=(0.5, 0.3),
    tail_weight=0.2,
    low_margin=None,
    calibrated_on=300,
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confidence": ()}, "buckets disagree"),
        ({"confidence": GOOD.confidence * 2}, "buckets disagree"),
        ({"confidence": (GOOD.confidence[0], (0.8, 0.8)), "low_margin": 1.0}, "differ in classes"),
        ({"confidence": ((0.9,),)}, "at least 2 classes"),
        ({"confidence": ((0.8, 0.7, 0.9, 1.0),)}, "class 3 must keep it on top"),
        ({"confidence": ((0.8, 0.3, 0.9, 0.8),)}, "class 1 must keep it on top"),
        ({"confidence": ((float("nan"), 0.7, 0.9, 0.8),)}, "class 0 must keep it on top"),
        ({"rank_weights": ()}, "0 ranks do not fit 4 classes"),
        ({"rank_weights": (0.4, 0.3, 0.2, 0.1)}, "4 ranks do not fit 4 classes"),
        ({"rank_weights": (0.3, 0.5)}, "must not rise"),
        ({"rank_weights": (0.5, 0.1)}, "must not rise"),
        ({"rank_weights": (0.5, 0.4)}, "must sum to 1"),
        ({"rank_weights": (1.5, 0.3)}, r"must lie in \[0, 1\]"),
        ({"tail_weight": -0.2}, r"must lie in \[0, 1\]"),
        ({"tail_weight": float("nan")}, r"must lie in \[0, 1\]"),
        ({"calibrated_on": 299}, "calibrated_on must be an integer of at least 300"),
        ({"calibrated_on": 300.0}, "calibrated_on must be an integer"),
        ({"calibrated_on": True}, "calibrated_on must be an integer"),
        ({"confidence": GOOD.confidence * 2, "low_margin": -1.0}, "low_margin is wrong"),
        ({"confidence": GOOD.confidence * 2, "low_margin": float("inf")}, "low_margin is wrong"),
    ],
)
def test_a_template_that_would_not_keep_the_label_is_refused(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^rank template: .*{message}"):
        replace(GOOD, **change)
