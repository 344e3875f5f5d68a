"""Statistics of an answer against their formulas, written out in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import log_softmax as scipy_log_softmax

from dynaserve.mia import signals

LABELS = np.array([0, 2, 1])


@pytest.fixture
def log_p() -> np.ndarray:
    return scipy_log_softmax(np.random.default_rng(0).normal(size=(4, 3, 5)) * 2, axis=-1)


def test_log_softmax_is_scipys(log_p: np.ndarray) -> None:
    np.testing.assert_allclose(signals.log_softmax(log_p * 3), scipy_log_softmax(log_p * 3, -1))


def test_entropies_are_their_formulas(log_p: np.ndarray) -> None:
    entropy = signals.log_entropy(log_p)
    modified = signals.log_modified_entropy(log_p, LABELS)
    for model in range(4):
        for row, y in enumerate(LABELS):
            p = np.exp(log_p[model, row]).tolist()
            h = -sum(q * math.log(q) for q in p)
            m = -(1 - p[y]) * math.log(p[y])
            m -= sum(q * math.log(1 - q) for i, q in enumerate(p) if i != y)
            assert math.exp(entropy[model, row]) == pytest.approx(h)
            assert math.exp(modified[model, row]) == pytest.approx(m)


def test_logit_confidence_tells_near_certain_answers_apart() -> None:
    z = np.array([[[40.0, 0.0, 0.0], [50.0, 0.0, 0.0]]])
    got = signals.logit_confidence(signals.log_softmax(z), np.array([0, 0]))
    np.testing.assert_allclose(got, [[40 - math.log(2), 50 - math.log(2)]])


def test_float32_answers_of_one_still_rank_by_their_other_classes() -> None:
    z = np.array([[[30.0, 0.0], [31.0, 0.0]]])
    released = np.exp(scipy_log_softmax(z, axis=-1)).astype(np.float32)
    assert (released[..., 0] == 1).all()
    got = signals.logit_confidence(signals.log_released(released), np.array([0, 0]))
    np.testing.assert_allclose(got, [[30, 31]], rtol=1e-6)


@pytest.mark.parametrize(
    "z", [[1e4, -1e4, 0.0], [-np.inf, 0.0, 0.0], [0.0, -np.inf, -np.inf], [-1e4, 1e4, 0.0]]
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_everything_is_finite_for_extreme_and_masked_logits(z: list[float], dtype: type) -> None:
    log_p = signals.log_softmax(np.array([[z]], dtype))
    label = np.array([0])
    for value in (
        signals.logit_confidence(log_p, label),
        signals.log_own_probability(signals.logit_confidence(log_p, label)),
        signals.log_entropy(log_p),
        signals.log_modified_entropy(log_p, label),
        signals.rank_of_label(log_p, label),
        signals.log_released(np.exp(log_p)),
    ):
        assert np.isfinite(value).all()


def test_nothing_is_changed_in_place(log_p: np.ndarray) -> None:
    before = log_p.copy()
    log_p.flags.writeable = False
    signals.log_softmax(log_p)
    signals.logit_confidence(log_p, LABELS)
    signals.log_modified_entropy(log_p, LABELS)
    np.testing.assert_array_equal(log_p, before)


def test_rank_counts_classes_strictly_above() -> None:
    log_p = np.log([[[0.4, 0.3, 0.3], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]]])
    assert signals.rank_of_label(log_p, LABELS).tolist() == [[0, 0, 0]]
    assert signals.rank_of_label(log_p, np.array([1, 0, 2])).tolist() == [[1, 1, 1]]
