"""Intervals hold the true value as often as they say, on normals whose true values are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from dynaserve.mia import metrics
from dynaserve.mia.intervals import best_accuracy_interval, tpr_interval

SAMPLES = 200
DISTANCE = 1.0


def sample(rows: int, distance: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    member = np.arange(2 * rows) < rows
    return rng.normal(size=2 * rows) + distance * member, member


@pytest.mark.parametrize(("rows", "fpr"), [(1000, 0.001), (1000, 0.01), (200, 0.01)])
def test_a_rate_at_a_low_fpr_is_held_by_its_interval(rows: int, fpr: float) -> None:
    rng = np.random.default_rng(0)
    true = norm.sf(norm.isf(fpr) - DISTANCE)
    held = []
    for seed in range(SAMPLES):
        low, high = tpr_interval(*sample(rows, DISTANCE, rng), fpr, seed=seed, draws=1000)
        held.append(low <= true <= high)
    # Three deviations of 200 draws at .95 are .046.
    assert np.mean(held) > 0.95 - 0.046


def test_the_interval_narrows_to_the_rate() -> None:
    rng = np.random.default_rng(1)
    scores, member = sample(200_000, DISTANCE, rng)
    low, high = tpr_interval(scores, member, 0.01)
    true = norm.sf(norm.isf(0.01) - DISTANCE)
    assert true - 0.006 < low < true < high < true + 0.006


def test_it_holds_the_estimate_and_starts_at_zero_with_few_non_members() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        scores, member = sample(300, 2.0, rng)
        for fpr in (0.01, 0.001):
            low, high = tpr_interval(scores, member, fpr)
            assert low <= metrics.tpr_at_fpr(scores, member, fpr) <= high
        assert low == 0


def test_certain_and_useless_scores_have_their_closed_forms() -> None:
    member = np.arange(2000) < 1000
    low, high = tpr_interval(member * 1.0, member, 0.01)
    # All of 1,000 found: Clopper and Pearson's low end is .025^(1/1000).
    assert high == 1.0
    assert low == pytest.approx(0.025 ** (1 / 1000), abs=5e-4)
    low, high = tpr_interval(np.zeros(2000), member, 0.01)
    # None found, whatever the threshold between ties: 1 - .025^(1/1000).
    assert low == 0.0
    assert high == pytest.approx(1 - 0.025 ** (1 / 1000), rel=0.15)
    low, high = tpr_interval(np.where(member, math.inf, -math.inf), member, 0.001)
    assert (low, high) == (pytest.approx(0, abs=1e-9), 1.0)


@pytest.mark.parametrize(("rows", "distance"), [(500, DISTANCE), (200, DISTANCE), (200, 0.0)])
def test_the_best_balanced_accuracy_is_held_by_its_interval(rows: int, distance: float) -> None:
    rng = np.random.default_rng(3)
    true, held, plain = norm.cdf(distance / 2), [], []
    for _ in range(SAMPLES):
        scores, member = sample(rows, distance, rng)
        weights = metrics.resample_counts(member, 100, rng)
        resampled = metrics.roc_curve(scores, member, weights).balanced_accuracy().max(axis=-1)
        estimate = metrics.best_balanced_accuracy(scores, member)
        low, high = best_accuracy_interval(estimate, resampled, member)
        assert 0.5 <= low <= estimate <= high
        held.append(low <= true <= high)
        low, high = metrics.interval(resampled)
        plain.append(low <= true <= high)
    assert np.mean(held) > 0.95 - 0.046
    assert np.mean(plain) < np.mean(held) - 0.05
