from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynaserve.defenses.dynanoise.config import DynaNoiseConfig
from dynaserve.defenses.dynanoise.query_keys import QueryKeys, fresh_row_keys
from dynaserve.defenses.keys import NoiseKey
from dynaserve.serving.telemetry import Repeats


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.int64])
def test_a_row_counts_from_its_second_time_on(dtype: Any) -> None:
    repeats = Repeats()
    rows = np.arange(60).reshape(20, 3).astype(dtype)
    assert repeats.of_rows(rows) == 0
    assert repeats.of_rows(rows[5:9]) == 4
    assert repeats.of_rows(np.concatenate([rows[:2], rows[:1], rows[:1] + 1])) == 3


def test_a_row_repeated_within_one_call_counts() -> None:
    assert Repeats().of_rows(np.ones((8, 4), np.float32)) == 7


def test_rows_of_any_shape_and_stride_are_told_apart_by_value() -> None:
    repeats = Repeats()
    images = np.random.default_rng(0).random((6, 4, 5, 3), np.float32)
    assert repeats.of_rows(images) == 0
    assert repeats.of_rows(np.asfortranarray(images)) == 6
    assert repeats.of_rows(images[::-1]) == 6
    changed = images.copy()
    changed[2, 3, 4, 2] = np.nextafter(changed[2, 3, 4, 2], np.float32(2))
    assert repeats.of_rows(changed) == 5


def test_zeros_of_both_signs_are_one_row() -> None:
    repeats = Repeats()
    repeats.of_rows(np.array([[0.0, 1.0]]))
    assert repeats.of_rows(np.array([[-0.0, 1.0]])) == 1


def test_no_rows_are_no_repeats() -> None:
    repeats = Repeats()
    for _ in range(2):
        assert repeats.of_rows(np.zeros((0, 4))) == 0
        assert repeats.of_row_keys(np.zeros((0, 4), np.uint32)) == 0


def test_keyed_noise_gives_the_same_count_as_the_rows() -> None:
    config = DynaNoiseConfig(
        base_variance=1.0, sensitivity_scale=2.0, temperature=1.0, noise="keyed"
    )
    keys = QueryKeys(NoiseKey.resolve(bytes(range(32))), config)
    by_row, by_key = Repeats(), Repeats()
    rng = np.random.default_rng(1)
    for _ in range(50):
        rows = rng.integers(0, 3, (40, 4)).astype(np.float32)
        assert by_key.of_row_keys(keys.row_keys(rows, (40,))) == by_row.of_rows(rows)


def test_fresh_keys_never_repeat() -> None:
    repeats = Repeats()
    assert sum(repeats.of_row_keys(fresh_row_keys(1000)) for _ in range(20)) == 0


def test_memory_is_bounded_and_old_rows_are_forgotten() -> None:
    repeats = Repeats(size=256)
    rows = np.arange(20_000.0).reshape(-1, 1)
    assert repeats.of_rows(rows) == 0
    assert repeats.table.nbytes == 256 * 8
    assert repeats.of_rows(rows[:1000]) == 0
    assert 30 < repeats.of_rows(rows[900:1000]) < 100


def test_each_process_hashes_by_a_key_of_its_own() -> None:
    one, other = Repeats(), Repeats()
    row = np.ones((1, 3))
    one.of_rows(row)
    other.of_rows(row)
    assert np.flatnonzero(one.table).tolist() != np.flatnonzero(other.table).tolist() or (
        max(one.table) != max(other.table)
    )


@pytest.mark.parametrize("size", [0, -4, 3, 1000])
def test_the_size_must_be_a_power_of_two(size: int) -> None:
    with pytest.raises(ValueError, match="power of two"):
        Repeats(size)
