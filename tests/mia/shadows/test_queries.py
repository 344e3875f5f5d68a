"""Near-duplicates and random inputs."""

from __future__ import annotations

import numpy as np
import pytest

from dynaserve.mia.shadows import Jitter
from dynaserve.mia.shadows.queries import random_inputs, size_name


def near(inputs: np.ndarray, jitter: Jitter, size: float, *, binary: bool) -> np.ndarray:
    return np.concatenate(list(jitter.chunks(inputs, size, binary=binary, seed=0)))


def test_flips_change_at_most_the_named_number_of_bits() -> None:
    inputs = np.random.default_rng(0).integers(0, 2, (40, 446), dtype=np.uint8)
    copies = near(inputs, Jitter((16,), copies=50), 16, binary=True)
    assert copies.shape == (2000, 446)
    assert copies.dtype == np.uint8
    assert set(np.unique(copies)) == {0, 1}
    changed = (copies != np.repeat(inputs, 50, axis=0)).sum(axis=1)
    assert changed.max() == 16
    # of 16 draws with replacement from 446, this many places are different
    assert changed.mean() == pytest.approx(446 * (1 - (1 - 1 / 446) ** 16), abs=0.05)


def test_noise_has_the_named_standard_deviation() -> None:
    inputs = np.random.default_rng(0).random((20, 3, 8, 8)).astype(np.float32)
    copies = near(inputs, Jitter((0.05,), copies=50), 0.05, binary=False)
    assert copies.shape == (1000, 3, 8, 8)
    noise = copies - np.repeat(inputs, 50, axis=0)
    assert noise.std() == pytest.approx(0.05, rel=0.02)
    assert abs(noise.mean()) < 0.001


def test_near_duplicates_do_not_depend_on_chunks_or_other_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inputs = np.random.default_rng(0).integers(0, 2, (30, 64), dtype=np.uint8)
    whole = near(inputs, Jitter((4, 8), copies=5), 8, binary=True)
    np.testing.assert_array_equal(whole, near(inputs, Jitter((8,), copies=5), 8, binary=True))
    monkeypatch.setattr("dynaserve.mia.shadows.queries._CHUNK_VALUES", 64 * 5 * 30)
    assert len(list(Jitter((8,), copies=5).chunks(inputs, 8, binary=True, seed=0))) == 1
    monkeypatch.setattr("dynaserve.mia.shadows.queries._CHUNK_VALUES", 64 * 5 * 7)
    chunks = list(Jitter((8,), copies=5).chunks(inputs, 8, binary=True, seed=0))
    assert [len(chunk) // 5 for chunk in chunks] == [7, 7, 7, 7, 2]
    np.testing.assert_array_equal(whole, np.concatenate(chunks))


def test_the_inputs_themselves_stay_untouched() -> None:
    inputs = np.zeros((3, 10), np.uint8)
    near(inputs, Jitter((4,), copies=2), 4, binary=True)
    assert not inputs.any()


def test_sizes_that_make_no_near_duplicates_are_refused() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        Jitter((0.0,))
    with pytest.raises(ValueError, match="must be positive"):
        Jitter((1.0,), copies=0)
    with pytest.raises(ValueError, match="named twice"):
        Jitter((16, 16.0))
    with pytest.raises(ValueError, match=r"0\.5 bits cannot be flipped"):
        near(np.zeros((2, 4), np.uint8), Jitter((0.5,)), 0.5, binary=True)


def test_random_inputs_lie_in_the_range_of_each_feature() -> None:
    inputs = np.array([[0.0, 5.0], [1.0, 7.0]], np.float32)
    random = random_inputs(inputs, 4000, binary=False, seed=0)
    assert random.shape == (4000, 2)
    np.testing.assert_allclose(random.min(axis=0), [0, 5], atol=0.01)
    np.testing.assert_allclose(random.max(axis=0), [1, 7], atol=0.01)
    bits = random_inputs(inputs.astype(np.uint8), 4000, binary=True, seed=0)
    assert bits.mean() == pytest.approx(0.5, abs=0.03)


def test_sizes_are_spelled_for_people() -> None:
    assert [size_name(size) for size in (16, 16.0, 0.05, 0.1)] == ["16", "16", "0.05", "0.1"]
