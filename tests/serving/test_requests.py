from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.serving.refused import MediaTypeError, RefusedError, TooLargeError
from dynaserve.serving.requests import Limits, Unread, read_body, read_inputs, read_rows

F32, F64, I8 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int8)


def refusal(inputs: Any, dtype: np.dtype[Any] = F32, shape: Any = (3,), max_rows: int = 4) -> str:
    with pytest.raises(RefusedError) as caught:
        read_rows(inputs, dtype, shape, max_rows=max_rows)
    return str(caught.value)


def test_rows_come_out_in_the_dtype_and_shape_of_the_model() -> None:
    rows = read_rows([[1, 2.5, -3], [0, 0, 1e-3]], F32, (3,), max_rows=4)
    assert rows.dtype == F32
    np.testing.assert_array_equal(rows, np.array([[1, 2.5, -3], [0, 0, 1e-3]], F32))


def test_rows_of_more_dimensions_are_read_as_nested_lists() -> None:
    images = np.arange(24.0).reshape(2, 3, 4)
    rows = read_rows(images.tolist(), F64, (3, 4), max_rows=2)
    np.testing.assert_array_equal(rows, images)


def test_a_row_may_be_a_single_number() -> None:
    assert read_rows([1, 2], F64, (), max_rows=2).tolist() == [1.0, 2.0]


def test_whole_numbers_stay_exact_for_a_model_that_takes_them() -> None:
    big = 2**62 + 1
    assert read_rows([[big]], np.dtype(np.int64), (1,), max_rows=1).tolist() == [[big]]


@pytest.mark.parametrize("sizes", [1, 5])
def test_an_open_size_is_the_same_in_all_rows_of_a_request(sizes: int) -> None:
    assert read_rows([[0.0] * sizes] * 2, F32, (None,), max_rows=2).shape == (2, sizes)
    assert refusal([[0.0] * sizes, [0.0] * (sizes + 1)], shape=(None,)) == (
        f"row 1 holds {sizes + 1} values instead of {sizes}"
    )


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"a": 1}, '"inputs" must be a list of rows, not an object'),
        (None, '"inputs" must be a list of rows, not null'),
        ("abc", '"inputs" must be a list of rows, not a string'),
        ([], '"inputs" holds no rows; send at least one'),
        ([[1, 2]], "row 0 holds 2 values instead of 3"),
        ([[1, 2, 3], [1, 2, 3, 4]], "row 1 holds 4 values instead of 3"),
        ([[]], "row 0 holds 0 values instead of 3"),
        ([1, 2, 3], "row 0 is a number, not a list of 3 values"),
        ([[1, 2, 3], None], "row 1 is null, not a list of 3 values"),
        ([[1, "2", 3]], "row 0, value 1 is a string; send numbers"),
        ([[1, 2, True]], "row 0, value 2 is a boolean; send numbers"),
        ([[1, 2, None]], "row 0, value 2 is null; send numbers"),
        ([[1, [2], 3]], "row 0, value 1 is a list; send numbers"),
        ([[1, 2, {}]], "row 0, value 2 is an object; send numbers"),
    ],
)
def test_a_refusal_names_the_place_and_what_would_be_right(inputs: Any, message: str) -> None:
    assert refusal(inputs) == message


def test_a_place_inside_a_nested_row_is_named_by_its_indices() -> None:
    assert refusal([[[1, 2], [3, "x"]]], shape=(2, 2)) == (
        "row 0, value 1, 1 is a string; send numbers"
    )
    assert refusal([[[1, 2], [3]]], shape=(2, 2)) == "row 0, value 1 holds 1 values instead of 2"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    assert "row 1, value 2 is not between -1.7976931e+308 and" in refusal(
        [[0, 0, 0], [0, 0, value]], F64
    )


@pytest.mark.parametrize(("value", "dtype"), [(1e39, "f4"), (10**300, "f4"), (70000.0, "f2")])
def test_values_past_the_range_of_the_model_are_refused(value: float, dtype: str) -> None:
    assert refusal([[0, value, 0]], np.dtype(dtype)).startswith("row 0, value 1 is not between -")


def test_a_whole_number_past_every_float_is_refused() -> None:
    assert "row 0, value 0" in refusal([[10**400, 0, 0]], F64)


def test_a_model_of_whole_numbers_takes_no_fractions_and_nothing_past_its_range() -> None:
    assert refusal([[1, 2, 3.0]], I8) == "row 0, value 2 is a fraction; send whole numbers"
    assert refusal([[1, 2, 128]], I8) == "row 0, value 2 is not between -128 and 127"


def test_too_many_rows_are_refused_with_their_own_status() -> None:
    with pytest.raises(TooLargeError, match="holds 5 rows; send at most 4 at once") as caught:
        read_rows([[0, 0, 0]] * 5, F32, (3,), max_rows=4)
    assert caught.value.status == 413


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=12,
)


@given(JSON, st.sampled_from([F32, F64, I8]), st.sampled_from([(), (2,), (None,), (1, 2)]))
def test_any_json_gives_finite_rows_of_the_right_shape_or_a_refusal(
    inputs: Any, dtype: np.dtype[Any], shape: tuple[int | None, ...]
) -> None:
    try:
        rows = read_rows(inputs, dtype, shape, max_rows=3)
    except RefusedError:
        return
    assert rows.dtype == dtype
    assert rows.ndim == 1 + len(shape)
    assert all(want in (None, got) for want, got in zip(shape, rows.shape[1:], strict=True))
    assert 1 <= len(rows) <= 3
    assert np.isfinite(rows).all()


@given(st.integers(10**6, 10**12), st.sampled_from([F32, I8]))
def test_a_refusal_never_holds_the_value_it_refuses(secret: int, dtype: np.dtype[Any]) -> None:
    for inputs in (
        [[secret, 0, "x"]],
        [[secret, str(secret), 0]],
        [[secret] * 2],
        [[secret, 0, 1e300]],
    ):
        assert str(secret) not in refusal(inputs, dtype)


LIMITS = Limits(max_rows=4, max_bytes=10**6, max_lists=None)


def inputs_of(*chunks: bytes, media_type: str = "application/json", limits: Limits = LIMITS) -> Any:
    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def read() -> Any:
        sent = Unread(stream(), media_type)
        return read_inputs(await read_body(sent, limits.max_bytes, limits.advice), limits)

    return asyncio.run(read())


@pytest.mark.parametrize(
    "media_type", ["application/json", "application/json; charset=utf-8", "Application/JSON"]
)
def test_json_is_read_whatever_its_charset_parameter(media_type: str) -> None:
    assert inputs_of(b'{"inputs": [[1]]}', media_type=media_type) == [[1]]


def test_a_body_may_come_in_pieces() -> None:
    assert inputs_of(b'{"inp', b'uts": [[', b"", b"12]]}") == [[12]]


@pytest.mark.parametrize(
    "media_type",
    ["application/vnd.bentoml+pickle", "application/x-www-form-urlencoded", "text/plain", ""],
)
def test_anything_but_json_is_refused_with_its_own_status(media_type: str) -> None:
    with pytest.raises(MediaTypeError, match="content-type: application/json") as caught:
        inputs_of(b'{"inputs": [[1]]}', media_type=media_type)
    assert caught.value.status == 415


def test_a_body_past_the_limit_is_refused_and_not_read_to_its_end() -> None:
    read: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            read.append(1)
            yield b"[" * 10

    with pytest.raises(TooLargeError, match="longer than 95 bytes") as caught:
        asyncio.run(
            read_body(Unread(endless(), "application/json"), 95, Limits(4, 95, None).advice)
        )
    assert caught.value.status == 413
    assert len(read) == 10


@pytest.mark.parametrize(
    ("shape", "max_bytes"),
    [
        ((64,), 1024 * 64 * 32 + 4096),
        ((3, 4), 1024 * 3 * 4 * 32 + 4096),
        ((), 1024 * 32 + 4096),
        ((3, 224, 224), 64 * 2**20),
        ((None,), 64 * 2**20),
    ],
)
def test_the_bytes_that_a_body_may_have_follow_from_the_rows(shape: Any, max_bytes: int) -> None:
    assert Limits.of(shape, max_rows=1024).max_bytes == max_bytes
    assert Limits.of(shape, max_rows=1024, max_bytes=7).max_bytes == 7


@pytest.mark.parametrize("dtype", [F64, np.dtype(np.int64), np.dtype(np.uint64)])
def test_the_longest_numbers_there_are_fit_as_many_rows_as_there_may_be(
    dtype: np.dtype[Any],
) -> None:
    lowest = (np.finfo if dtype.kind == "f" else np.iinfo)(dtype).min
    longest = -2.2250738585072014e-308 if dtype.kind == "f" else max(int(lowest), -(2**63))
    body = json.dumps({"inputs": [[longest] * 5] * 1000}, indent=1, separators=(", ", ": "))
    assert len(body) < Limits.of((5,), max_rows=1000).max_bytes


@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (2, 3, 1), (None,), (2, None)])
def test_the_lists_of_as_many_rows_as_there_may_be_and_no_more_are_read(shape: Any) -> None:
    limits = Limits.of(shape, max_rows=4)
    rows = np.zeros((4, *(5 if size is None else size for size in shape))).tolist()
    body = json.dumps({"inputs": rows})
    assert inputs_of(body.encode(), limits=limits) == rows
    with pytest.raises(TooLargeError, match="at most 4 rows"):
        inputs_of(body.replace("0.0", "[", 1).encode(), limits=limits)


def test_where_a_row_may_hold_any_number_of_lists_none_is_too_many() -> None:
    assert Limits.of((None, 2), max_rows=4).max_lists is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"inputs": [[NaN]]}',
        b'{"inputs": [[Infinity]]}',
        b'{"inputs": [[1e400]]}',
        b"\xff",
        b'{"inputs": ' + b"[" * 100_000,
    ],
)
def test_malformed_json_is_refused_with_its_place(body: bytes) -> None:
    with pytest.raises(RefusedError, match=r"malformed JSON at line 1, column \d+"):
        inputs_of(body)


@pytest.mark.parametrize("body", [b"[[1]]", b"{}", b'{"input": [[1]]}', b'{"inputs": [], "x": 1}'])
def test_a_body_without_exactly_the_field_inputs_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedError, match='one field "inputs"'):
        inputs_of(body)


def test_many_objects_are_refused_before_they_are_built() -> None:
    with pytest.raises(RefusedError, match="send one object"):
        inputs_of(b'{"inputs": [' + b"{}," * 1000 + b"{}]}")
