"""A table of hashes seen before, against a dictionary."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from dynaserve import _core


@pytest.mark.parametrize("size", [1, 2, 64])
def test_a_hash_is_seen_until_another_takes_its_place(size: int) -> None:
    table, places = np.zeros(size, np.uint64), {}
    rng = np.random.default_rng(size)
    for _ in range(20):
        hashes = rng.integers(1, 100, 50).astype(np.uint64) * np.uint64(2**57 + 1)
        expected = 0
        for each in hashes.tolist():
            expected += places.get(each % size) == each
            places[each % size] = each
        assert _core.count_seen(table, hashes) == expected
    assert table.tolist() == [places.get(place, 0) for place in range(size)]


def test_hashes_may_be_a_column_of_others() -> None:
    words = np.arange(1, 9, dtype=np.uint64).reshape(4, 2)
    table = np.zeros(16, np.uint64)
    assert _core.count_seen(table, words[:, 0]) == 0
    assert _core.count_seen(table, words.ravel()) == 4


READ_ONLY = np.zeros(4, np.uint64)
READ_ONLY.setflags(write=False)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        *(
            ((table, np.zeros(3, np.uint64)), ValueError, "table must be writeable uint64 (n,)")
            for table in (
                np.zeros(3, np.uint64),
                np.zeros(0, np.uint64),
                np.zeros((2, 2), np.uint64),
                np.zeros(4, np.int64),
                np.zeros(8, np.uint64)[::2],
                READ_ONLY,
                [0, 0],
            )
        ),
        ((np.zeros(4, np.uint64), np.zeros(3)), ValueError, "hashes must be uint64 (n,)"),
        ((np.zeros(4, np.uint64), np.zeros((3, 1), np.uint64)), ValueError, "hashes must be"),
        ((np.zeros(4, np.uint64),), TypeError, "do not fit count_seen(table, hashes)"),
    ],
)
def test_what_does_not_fit_is_refused(
    arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        _core.count_seen(*arguments)
