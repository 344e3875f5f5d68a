from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.bulk import ids
from dynaserve.bulk.ids import first_repeated, hashes_of, is_id

UNITS = st.lists(st.lists(st.integers(-3, 300) | st.text(max_size=2), max_size=12), max_size=5)


def repeated(units: Sequence[Sequence[object]]) -> object:
    hashes = [hashes_of(unit) for unit in units]
    return first_repeated(hashes, lambda unit, row: units[unit][row])


@given(UNITS)
def test_two_equal_ids_are_found_wherever_they_are_and_nothing_else(
    units: list[list[int | str]],
) -> None:
    every = [own for unit in units for own in unit]
    found = repeated(units)
    if len(set(every)) == len(every):
        assert found is None
    else:
        (one, row), (other, other_row) = found  # type: ignore[misc]
        assert (one, row) < (other, other_row)
        assert units[one][row] == units[other][other_row]


def test_a_number_and_its_digits_are_two_ids() -> None:
    assert repeated([[1, "1"], [-1, 2**70, 2**64 + 1]]) is None


def test_a_number_has_one_hash_whatever_stands_beside_it() -> None:
    assert repeated([[7, 8], ["x", 7]]) == ((0, 0), (1, 1))
    assert repeated([[7, 2**80], [7]]) == ((0, 0), (1, 0))


def test_rows_without_an_id_are_not_the_same_row() -> None:
    assert repeated([[None, None], [None, True, True, 1.5, 1.5]]) is None
    assert not any(map(is_id, (None, True, 1.5, b"x")))


def test_equal_hashes_of_different_ids_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "_hash", lambda _: bytes(8))
    assert repeated([["a", "b"], ["c"]]) is None
    assert repeated([["a", "b"], ["c", "b"]]) is not None


def test_looking_for_repeated_ids_takes_nine_bytes_a_row_beside_the_hashes() -> None:
    rows = 1_000_000
    hashes = [hashes_of(range(start, start + rows // 4)) for start in range(0, rows, rows // 4)]
    tracemalloc.start()
    try:
        assert first_repeated(hashes, lambda *_: None) is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * rows  # the threads of workers are measured too


def test_a_hash_is_one_word_for_each_row() -> None:
    assert hashes_of([]).shape == (0,)
    assert hashes_of(["a", 1, None]).dtype == np.uint64
