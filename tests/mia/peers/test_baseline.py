"""What all output defenses of others share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch

from dynaserve.defenses import Defense
from dynaserve.mia.peers.baseline import one_time_uniforms, softmax
from dynaserve.mia.peers.hamp import HampOutput
from dynaserve.mia.peers.simple import Temperature, TopOne

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(scale=4, size=(200, 5)).astype(np.float32)
BASELINES = [TopOne(), Temperature(10.0), HampOutput(RNG.normal(size=(50, 5)))]
by_name = pytest.mark.parametrize("defense", BASELINES, ids=lambda d: type(d).__name__)


@by_name
def test_a_baseline_is_a_defense(defense: Defense) -> None:
    assert isinstance(defense, Defense)
    assert defense.describe()
    released = defense(LOGITS.reshape(2, 100, 5))
    assert released.shape == (2, 100, 5)
    assert released.dtype == np.float32
    np.testing.assert_allclose(released.sum(axis=-1), 1, atol=1e-6)
    np.testing.assert_array_equal(released.reshape(200, 5), defense(LOGITS))
    assert defense(LOGITS[:0]).shape == (0, 5)


@by_name
def test_the_label_stays(defense: Defense) -> None:
    np.testing.assert_array_equal(defense(LOGITS).argmax(axis=1), LOGITS.argmax(axis=1))


@by_name
def test_tensors_come_back_as_tensors(defense: Defense) -> None:
    released = defense(torch.from_numpy(LOGITS))
    assert isinstance(released, torch.Tensor)
    np.testing.assert_array_equal(released.numpy(), defense(LOGITS))


@by_name
def test_probabilities_will_do(defense: Defense) -> None:
    released = defense.from_probabilities(scipy.special.softmax(LOGITS, axis=1))
    np.testing.assert_array_equal(released.argmax(axis=1), LOGITS.argmax(axis=1))


@by_name
def test_rows_without_a_softmax_are_refused(defense: Defense) -> None:
    broken = LOGITS.copy()
    broken[7, 2] = np.nan
    with pytest.raises(ValueError, match="row 7 holds NaN"):
        defense(broken)


@by_name
def test_a_baseline_is_not_saved_to_be_served(defense: Defense, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="here to be measured, not to be served"):
        defense.save(tmp_path / "defense.toml")
    assert not list(tmp_path.iterdir())


def test_top_one_releases_the_label_alone() -> None:
    released = TopOne()(np.array([[0.1, 0.2, 0.2], [3.0, -1.0, 2.9]]))
    np.testing.assert_array_equal(released, [[0, 1, 0], [1, 0, 0]])


def test_temperature_is_the_softmax_of_divided_logits() -> None:
    expected = scipy.special.softmax(LOGITS.astype(np.float64) / 7, axis=1)
    np.testing.assert_allclose(Temperature(7.0)(LOGITS), expected, atol=1e-6)
    assert Temperature(7.0).temperature == 7
    with pytest.raises(ValueError, match="must be positive"):
        Temperature(0.0)


def test_softmax_survives_large_logits() -> None:
    np.testing.assert_allclose(softmax(np.array([[1e4, 1e4, -1e4]])), [[0.5, 0.5, 0]])


def test_one_time_numbers_are_uniform_and_belong_to_their_row() -> None:
    rows = np.random.default_rng(1).normal(size=(20_000, 4)).astype(np.float32)
    numbers = one_time_uniforms(rows, seed=0)
    assert scipy.stats.kstest(numbers, "uniform").pvalue > 1e-3
    order = np.random.default_rng(2).permutation(20_000)
    np.testing.assert_array_equal(one_time_uniforms(rows[order], seed=0), numbers[order])
    assert abs(np.corrcoef(numbers, one_time_uniforms(rows, seed=1))[0, 1]) < 0.03
    nudged = np.nextafter(rows, np.float32(np.inf))
    assert abs(np.corrcoef(numbers, one_time_uniforms(nudged, seed=0))[0, 1]) < 0.03


def test_one_time_numbers_do_not_tell_the_sign_of_zero() -> None:
    zeros = np.zeros((1, 3), np.float32)
    np.testing.assert_array_equal(one_time_uniforms(zeros, 0), one_time_uniforms(-zeros, 0))
