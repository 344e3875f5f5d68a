from __future__ import annotations

import sys
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps
from numpy.typing import NDArray

from dynaserve.serving.inference.datatypes import DATATYPES
from dynaserve.serving.inference.tensors import checked_shape, fitted, from_bytes, from_json
from dynaserve.serving.refused import RefusedError, TooLargeError
from dynaserve.serving.requests import read_rows

MODEL_DTYPES = [np.dtype(name) for name in ("f2", "f4", "f8", "i4", "i8", "u1")]
shapes = nps.array_shapes(min_dims=2, max_dims=4, max_side=4)


@st.composite
def tensors(draw: st.DrawFn) -> NDArray[Any]:
    return draw(nps.arrays(draw(st.sampled_from(sorted(DATATYPES.values(), key=str))), shapes))


def outcome(call: Any) -> tuple[str, Any]:
    try:
        rows = call()
    except RefusedError as error:
        return "refused", str(error)
    return str(rows.dtype), (rows.shape, rows.tobytes())


@given(tensors(), st.integers(0, 9))
def test_raw_values_come_back_as_they_were_sent(values: NDArray[Any], offset: int) -> None:
    body = memoryview(b"x" * offset + values.tobytes())
    back = from_bytes(body[offset:], values.dtype, values.shape)
    assert back.dtype == values.dtype
    assert back.shape == values.shape
    assert back.tobytes() == values.tobytes()


def test_raw_values_are_not_copied() -> None:
    body = bytearray(8)
    values = from_bytes(memoryview(body), np.dtype("<f4"), (1, 2))
    body[3] = 0x40
    assert values[0, 0] == 2.0


def test_raw_values_are_little_endian_whatever_the_machine_is() -> None:
    values = from_bytes(memoryview(b"\x01\x00\x02\x00"), DATATYPES["UINT16"], (1, 2))
    assert values.tolist() == [[1, 2]]
    assert sys.byteorder == "little" or values.dtype.byteorder == "<"


@given(tensors(), st.sampled_from(MODEL_DTYPES))
def test_rows_are_the_ones_that_json_of_the_same_numbers_makes(
    values: NDArray[Any], dtype: np.dtype[Any]
) -> None:
    assume(values.dtype.kind != "f" or np.isfinite(values).all())
    assume(not (values.dtype.kind == "f" and dtype.kind in "iu"))
    json = orjson.loads(orjson.dumps(values.tolist()))
    wanted = outcome(lambda: read_rows(json, dtype, values.shape[1:], max_rows=100))
    assert outcome(lambda: fitted(values, dtype)) == wanted


@given(tensors(), st.booleans())
def test_json_and_raw_bytes_of_a_tensor_are_one_tensor(values: NDArray[Any], flat: bool) -> None:
    assume(values.dtype.kind != "f" or np.isfinite(values).all())
    data = orjson.loads(orjson.dumps((values.ravel() if flat else values).tolist()))
    back = from_json(data, values.dtype, values.shape)
    assert back.dtype == values.dtype
    np.testing.assert_array_equal(back, values)


def test_whole_numbers_round_twice_as_those_of_json_do() -> None:
    number = 2**60 + 2**36 + 1  # just past the middle of two float32, and its float64 is there
    direct = np.float32(np.int64(number))
    rows = fitted(np.array([[number]]), np.dtype(np.float32))
    assert float(direct) == 2**60 + 2**37
    assert float(rows[0, 0]) == 2**60


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_by_place(kind: str, bad: float) -> None:
    values = np.zeros((3, 2, 2), kind)
    values[1, 1, 0] = bad
    with pytest.raises(RefusedError, match=r"^row 1, value 1, 0 is not between -1\.79"):
        fitted(values, np.dtype(np.float64))


@pytest.mark.parametrize(
    ("values", "dtype", "message"),
    [
        (np.array([[0.0, 1e300]]), "f4", r"row 0, value 1 is not between -3\.4028235e\+38"),
        (np.array([[70000]]), "f2", "row 0, value 0 is not between -65504 and 65504"),
        (np.array([[1], [-1]]), "u1", "row 1, value 0 is not between 0 and 255"),
        (np.array([[2**63]], "u8"), "i8", "row 0, value 0 is not between"),
        (np.array([[-(2**63)]]), "i4", "row 0, value 0 is not between"),
        (np.array([[1.0]]), "i8", '"inputs" is FP64; send whole numbers, in INT64'),
    ],
)
def test_what_the_model_cannot_hold_is_refused(
    values: NDArray[Any], dtype: str, message: str
) -> None:
    with pytest.raises(RefusedError, match=message):
        fitted(values, np.dtype(dtype))


def test_what_fits_already_is_not_copied() -> None:
    values = np.ones((2, 2), np.float32)
    assert fitted(values, np.dtype(np.float32)) is values


@pytest.mark.parametrize("wrong", [-1, 1, -16, 10**6])
def test_raw_bytes_must_be_as_many_as_the_shape_needs(wrong: int) -> None:
    with pytest.raises(RefusedError, match=f"has {16 + wrong} bytes of binary data; .* need 16"):
        from_bytes(memoryview(bytes(16 + wrong)), np.dtype("<f4"), (2, 2))


@pytest.mark.parametrize("shape", [(2**63, 2**63), (2**32, 2**32), (1, 2**64 - 1)])
def test_sizes_that_overflow_need_their_bytes_all_the_same(shape: tuple[int, ...]) -> None:
    with pytest.raises(RefusedError, match=f"need {shape[0] * shape[1] * 4}$"):
        from_bytes(memoryview(b""), np.dtype("<f4"), shape)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (None, "must be a list of whole numbers"),
        ("[1, 3]", "must be a list of whole numbers"),
        ([1, -3], "must be a list of whole numbers"),
        ([-1, 3], "must be a list of whole numbers"),
        ([1.0, 3], "must be a list of whole numbers"),
        ([True, 3], "must be a list of whole numbers"),
        ([[1], 3], "must be a list of whole numbers"),
        ([], r"has 0 sizes instead of 2; send \[rows, 3\]"),
        ([3], "has 1 sizes instead of 2"),
        ([1, 1, 3], "has 3 sizes instead of 2"),
        ([0, 3], "holds no rows; send at least one"),
        ([1, 4711], "row 0 holds 4711 values instead of 3"),
        ([1, 0], "row 0 holds 0 values instead of 3"),
    ],
)
def test_a_shape_that_is_not_that_of_rows_is_refused(shape: Any, message: str) -> None:
    with pytest.raises(RefusedError, match=message) as caught:
        checked_shape(shape, (3,), 8)
    assert not isinstance(caught.value, TooLargeError)


@pytest.mark.parametrize("rows", [9, 2**40, 2**63, 2**64 - 1])
def test_more_rows_than_allowed_are_too_large(rows: int) -> None:
    assert checked_shape([8, 3], (3,), 8) == (8, 3)
    with pytest.raises(TooLargeError, match=f"holds {rows} rows; send at most 8 at once"):
        checked_shape([rows, 3], (3,), 8)


def test_a_size_that_the_model_leaves_open_may_be_any_but_none() -> None:
    assert checked_shape([1, 5, 7], (None, 7), 8) == (1, 5, 7)
    with pytest.raises(RefusedError, match="row 0 holds 0 values instead of at least 1"):
        checked_shape([1, 0, 7], (None, 7), 8)
    with pytest.raises(RefusedError, match="row 0, value 0 holds 6 values instead of 7"):
        checked_shape([1, 5, 6], (None, 7), 8)
    with pytest.raises(RefusedError, match=r"send \[rows, any, 7\]"):
        checked_shape([1, 5], (None, 7), 8)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("4711", "must be a list of numbers"),
        ({"4711": 1}, "must be a list of numbers"),
        ([], "holds 0 values; its shape needs 6"),
        ([1, 2, 3], "holds 3 values; its shape needs 6"),
        ([1, 2, 3, 4, 5, "4711"], "row 1, value 2 is a string; send numbers"),
        ([1, 2, 3, None, 5, 6], "row 1, value 0 is null; send numbers"),
        ([1, True, 3, 4, 5, 6], "row 0, value 1 is a boolean; send numbers"),
        ([1, 2, 3, 4, 5, [6]], "row 1, value 2 is a list; send numbers"),
        ([1, 2, 3, 4, 5, 1e300], "row 1, value 2 is not between"),
        ([[1, 2, 3]], "holds 1 rows; its shape says 2"),
        ([[1, 2, 3], [1, 2]], "row 1 holds 2 values instead of 3"),
        ([[1, 2, 3], 4711], "row 1 is a number, not a list of 3 values"),
        ([[[1], 2, 3], [1, 2, 3]], "row 0, value 0 is a list; send numbers"),
    ],
)
def test_json_values_that_are_not_such_numbers_are_refused(data: Any, message: str) -> None:
    with pytest.raises(RefusedError, match=message) as caught:
        from_json(data, np.dtype(np.float32), (2, 3))
    assert "4711" not in str(caught.value)


def test_whole_numbers_of_json_have_no_fraction() -> None:
    with pytest.raises(RefusedError, match="row 0, value 1 is a fraction; send whole numbers"):
        from_json([1, 2.0], np.dtype(np.int32), (1, 2))
    with pytest.raises(RefusedError, match="row 0, value 0 is not between -128 and 127"):
        from_json([128, 2], np.dtype(np.int8), (1, 2))
