"""The oracle against published vectors, against scipy and against the formulas row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import entropy

from dynaserve.defenses.dynanoise.reference import (
    dynanoise_reference,
    normals,
    philox4x32,
    sensitivity_reference,
)


def keys(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**32, (n, 4), dtype=np.uint32)


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        (
            [0xFFFFFFFF] * 4,
            [0xFFFFFFFF] * 2,
            [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        ),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_words_are_those_of_random123(counter: Any, key: Any, words: Any) -> None:
    got = philox4x32(np.array([counter], np.uint32), np.array([key], np.uint32))
    assert got.tolist() == [words]


def test_normals_follow_the_definition_class_by_class() -> None:
    row_keys = keys(3)
    got = normals(row_keys, 7)
    for row, (k0, k1, c2, c3) in enumerate(row_keys):
        for column in range(7):
            counter = np.array([[column // 4, 0, c2, c3]], np.uint32)
            words = philox4x32(counter, np.array([[k0, k1]], np.uint32))[0].astype(int)
            first, second = words[:2] if column % 4 < 2 else words[2:]
            radius = math.sqrt(-2 * math.log(((int(first) >> 8) + 1) / 2**24))
            turn = math.sin if column % 2 else math.cos
            assert got[row, column] == pytest.approx(
                radius * turn(2 * math.pi * int(second) / 2**32), abs=1e-12
            )


def test_the_first_classes_do_not_depend_on_how_many_there_are() -> None:
    row_keys = keys(4)
    np.testing.assert_array_equal(normals(row_keys, 5), normals(row_keys, 200)[:, :5])


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.floats(0, 100), st.floats(0.01, 50))
def test_without_noise_it_is_a_softmax(
    seed: int, classes: int, spread: float, temperature: float
) -> None:
    x = np.random.default_rng(seed).normal(size=(3, classes)) * spread
    got = dynanoise_reference(x, keys(3), 0.0, 2.0, temperature)
    np.testing.assert_allclose(got, softmax(x / temperature, axis=1), atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.floats(0, 30))
def test_sensitivity_is_one_minus_the_normalized_entropy(
    seed: int, classes: int, spread: float
) -> None:
    x = np.random.default_rng(seed).normal(size=(4, classes)) * spread
    expected = 1 - entropy(softmax(x, axis=1), axis=1) / math.log(classes)
    np.testing.assert_allclose(sensitivity_reference(x), expected, atol=1e-9)


def test_the_noise_is_scaled_by_the_rows_own_sensitivity() -> None:
    x = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, -3.0]])
    row_keys = keys(2)
    p = dynanoise_reference(x, row_keys, 0.7, 3.0, 2.0)
    sigma = np.sqrt(0.7 * (1 + 3.0 * sensitivity_reference(x)))
    expected = softmax((x + sigma[:, None] * normals(row_keys, 3)) / 2.0, axis=1)
    np.testing.assert_allclose(p, expected, atol=1e-12)


def test_sensitivity_stays_in_its_range_at_both_ends() -> None:
    x = np.array([[1e4, -1e4, 0.0], [0.0, 0.0, 0.0], [3.0, -np.inf, -np.inf]])
    assert sensitivity_reference(x).tolist() == pytest.approx([1.0, 0.0, 1.0], abs=1e-12)
    assert (sensitivity_reference(x) <= 1).all()


def test_masked_classes_count_in_k_and_stay_zero() -> None:
    x = np.array([[1.0, 1.0, -np.inf, -np.inf]])
    assert sensitivity_reference(x)[0] == pytest.approx(0.5)
    assert (dynanoise_reference(x, keys(1), 1.0, 2.0, 1.0)[0, 2:] == 0).all()


def test_extreme_values_make_no_nan() -> None:
    x = np.array([[1e308, -1e308, 0.0], [1e4, 1e4, -1e4], [-1e4, -1e4, -1e4]])
    for temperature in (1e-300, 1.0, 1e300):
        p = dynanoise_reference(x, keys(3), 0.3, 2.0, temperature, True)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)


def test_the_kept_label_leads_strictly_in_float32_even_on_ties() -> None:
    x = np.zeros((500, 10))
    x[:, 3:5] = 0.1
    p = dynanoise_reference(x, keys(500), 5.0, 0.0, 1.0, True)
    ordered = np.sort(p, axis=1)
    assert (p.argmax(axis=1) == 3).all()
    assert (ordered[:, -1] > ordered[:, -2]).all()


def test_keeping_the_label_swaps_two_values_and_raises_one_in_every_row() -> None:
    x = np.random.default_rng(1).normal(size=(300, 5))
    plain = dynanoise_reference(x, keys(300), 1.0, 2.0, 1.0)
    kept = dynanoise_reference(x, keys(300), 1.0, 2.0, 1.0, True)
    moved = plain.argmax(axis=1) != x.argmax(axis=1)
    assert 0 < moved.sum() < 300
    rows = np.arange(300)
    label, winner = x.argmax(axis=1), plain.argmax(axis=1)
    np.testing.assert_allclose(
        kept[rows, label], plain[rows, winner] * (1 + 2**-23), rtol=1e-15, atol=0
    )
    np.testing.assert_array_equal(kept[rows, winner][moved], plain[rows, label][moved])


def test_chunks_do_not_show() -> None:
    x = np.random.default_rng(0).normal(size=(40, 100_000))
    whole = dynanoise_reference(x, keys(40), 1.0, 2.0, 1.0, True)
    row = dynanoise_reference(x[37], keys(40)[37:38], 1.0, 2.0, 1.0, True)
    np.testing.assert_array_equal(whole[37], row)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base_variance": -1.0}, "base_variance: must be finite and at least 0"),
        ({"base_variance": math.nan}, "base_variance"),
        ({"sensitivity_scale": math.inf}, "sensitivity_scale"),
        ({"temperature": 0.0}, "temperature: must be finite and more than 0"),
        ({"temperature": math.inf}, "temperature"),
        ({"row_keys": np.zeros((3, 4), np.uint32)}, r"row_keys: needs uint32 \(2, 4\)"),
        ({"row_keys": np.zeros((2, 4), np.int64)}, "row_keys"),
        ({"logits": np.zeros((2, 1))}, r"1 class\(es\)"),
        ({"logits": np.zeros((2, 3), int)}, "dtype int64"),
        ({"logits": np.array([[0.0, 1.0], [np.nan, 0.0]])}, "row 1 holds NaN"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "logits": np.zeros((2, 3)),
        "row_keys": keys(2),
        "base_variance": 1.0,
        "sensitivity_scale": 2.0,
        "temperature": 1.0,
    }
    with pytest.raises(ValueError, match=message):
        dynanoise_reference(**arguments | change)


def test_an_empty_batch_is_fine() -> None:
    x = np.zeros((0, 3, 5), np.float16)
    assert dynanoise_reference(x, keys(0), 1.0, 2.0, 1.0).shape == (0, 3, 5)
    assert sensitivity_reference(x).shape == (0, 3)
