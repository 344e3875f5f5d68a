"""The model that everyone serves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from benchmarks.peers import model


def test_every_process_has_the_same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(model.CLASSES, "7")
    assert model.served_weights().shape == (64, 7)
    np.testing.assert_array_equal(model.served_weights(), model.weights(7))


def test_probabilities_are_a_softmax_of_logits_that_spread_by_about_5() -> None:
    rows = np.random.default_rng(1).integers(17, size=(50, 64)).astype(np.float32)
    weights = model.weights(200)
    logits = rows.astype(np.float64) @ weights
    assert np.std(logits) == pytest.approx(5, rel=0.1)
    found = model.probabilities(rows, weights)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, softmax(logits, axis=1), rtol=1e-4, atol=1e-9)
