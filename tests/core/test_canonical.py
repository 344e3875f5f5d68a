"""Every query has one form; what may differ between equal ones is listed here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dynaserve import _core


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_have_one_zero_and_one_nan(dtype: Any) -> None:
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
    nans = np.array([np.nan, -np.nan, np.nan], dtype)
    nans.view(bits)[2] |= 1  # with a payload
    values = np.concatenate([np.array([-0.0, 0.0, 1.5, -2.0, np.inf, -np.inf], dtype), nans])
    expected = np.array([0.0, 0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, np.nan, np.nan], dtype)
    assert _core.canonical_bytes(values) == expected.tobytes()


def test_the_smallest_numbers_are_not_zeros() -> None:
    values = np.array([2.0**-149, -(2.0**-149)], np.float32)
    assert _core.canonical_bytes(values) == values.tobytes()


def test_both_parts_of_a_complex_number_are_floats() -> None:
    values = np.array([complex(-0.0, -np.nan)], np.complex64)
    assert _core.canonical_bytes(values) == np.array([0.0, np.nan], np.float32).tobytes()


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8"])
def test_integers_keep_their_bits(dtype: str) -> None:
    values = np.array([0, 1, 1], dtype)
    if dtype != "?":
        values[2] = np.iinfo(dtype).min or np.iinfo(dtype).max
    assert _core.canonical_bytes(values) == values.tobytes()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(12.0).reshape(2, 6)[:, ::2] / 2,
        np.arange(6.0).reshape(2, 3).astype(">f8"),
        np.frombuffer(b"\0" + np.arange(6.0).tobytes(), np.uint8)[1:].view("f8").reshape(2, 3),
    ],
    ids=["plain", "fortran", "strided", "big-endian", "misaligned"],
)
def test_memory_layout_does_not_matter(array: NDArray[Any]) -> None:
    assert _core.canonical_bytes(array) == np.arange(6.0).tobytes()


def test_the_array_stays_as_it_was() -> None:
    array = np.array([-0.0, 1.0])
    array.flags.writeable = False
    _core.canonical_bytes(array)
    assert np.signbit(array[0])


@pytest.mark.parametrize("array", [np.zeros((0, 3)), np.zeros((2, 0), np.float32)])
def test_nothing_has_no_bytes(array: NDArray[Any]) -> None:
    assert _core.canonical_bytes(array) == b""


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([None]), np.zeros(1, "M8[s]")])
def test_what_has_no_canonical_bytes_is_refused(array: NDArray[Any]) -> None:
    with pytest.raises(ValueError, match="has no canonical bytes"):
        _core.canonical_bytes(array)
