from __future__ import annotations

import hashlib
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dynaserve.defenses.dynanoise.config import DynaNoiseConfig
from dynaserve.defenses.dynanoise.query_keys import QueryKeys, fresh_row_keys
from dynaserve.defenses.keys import NoiseKey

SECRET = bytes(range(32))
CONFIG = DynaNoiseConfig(
    base_variance=1.0, sensitivity_scale=2.0, temperature=1.0, noise="keyed", preserve_top1=True
)


def hash_with(secret: bytes = SECRET, **changes: Any) -> QueryKeys:
    return QueryKeys(NoiseKey(secret), CONFIG.model_copy(update=changes))


def row_keys(queries: Any, leading: tuple[int, ...] | None = None) -> np.ndarray:
    return hash_with().row_keys(queries, (len(queries),) if leading is None else leading)


def same(first: Any, second: Any) -> bool:
    return bool((row_keys(first) == row_keys(second)).all())


def test_keys_are_four_words_per_row() -> None:
    keys = row_keys(np.eye(3))
    assert (keys.shape, keys.dtype) == ((3, 4), np.uint32)
    assert len(np.unique(keys, axis=0)) == 3


def literal_key(*parts: bytes, row: bytes) -> list[int]:
    framed = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    digest = hashlib.blake2b(framed + row, key=SECRET, digest_size=16).digest()
    return [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]


def test_the_hashed_bytes_are_those_that_every_release_must_hash() -> None:
    prefix = (
        b"dynaserve/dynanoise/row-key/1",
        b"v7",
        b'{"base_variance":1.0,"noise":"keyed","preserve_top1":true,'
        b'"sensitivity_scale":2.0,"temperature":1.0}',
    )
    versioned = hash_with(model_version="v7")
    array = np.array([[[1.0, -0.0]], [[3.0, 4.0]]], ">f4")
    row = np.array([1.0, 0.0], "<f4").tobytes()
    expected = literal_key(*prefix, b"<f4", b"(1, 2)", row=row)
    assert versioned.row_keys(array, (2,))[0].tolist() == expected
    expected = literal_key(*prefix, b"bytes", b"()", row=b"query")
    assert versioned.row_keys([b"query"], (1,)).tolist() == [expected]


ROWS = hnp.arrays(
    st.sampled_from(["?", "<i8", "<u2", "<f2", "<f4", "<f8", "<c8", "<c16"]),
    hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
)


@given(ROWS, st.integers(0, 2))
def test_a_row_keeps_its_key_in_any_batch_position_order_and_layout(row: Any, at: int) -> None:
    alone = row_keys(row[None])[0]
    others = [np.ones_like(row), np.zeros_like(row)]
    batch = np.stack([*others[:at], row, *others[at:]])
    assert (row_keys(batch)[at] == alone).all()
    assert (row_keys(np.asfortranarray(batch))[at] == alone).all()
    assert (row_keys(batch.astype(batch.dtype.newbyteorder(">")))[at] == alone).all()
    spread = np.zeros((3, 2, *row.shape), row.dtype)
    spread[:, 1] = batch
    assert (row_keys(spread[:, 1])[at] == alone).all()
    backwards = np.ascontiguousarray(batch[::-1])[::-1]
    assert (row_keys(backwards)[at] == alone).all()
    read_only = batch.copy()
    read_only.flags.writeable = False
    assert (row_keys(read_only)[at] == alone).all()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_zeros_have_no_sign_and_nans_no_payload(dtype: str) -> None:
    zeros = np.array([[0.0], [-0.0]], dtype)
    assert (row_keys(zeros)[0] == row_keys(zeros)[1]).all()
    size = {"f2": 2, "f4": 4, "f8": 8, "c8": 4, "c16": 8}[dtype]
    unsigned = np.dtype(f"u{size}").type
    infinity = np.array(np.inf, f"f{size}").view(unsigned)
    sign = unsigned(1) << unsigned(8 * size - 1)
    patterns = [infinity | unsigned(1), infinity | sign | unsigned(2), infinity | infinity >> 1]
    nans = np.array(patterns, unsigned).view(f"f{size}")
    if dtype.startswith("c"):
        nans = np.stack([nans, np.zeros_like(nans)], axis=-1).view(dtype)[:, 0]
    assert np.isnan(nans).all()
    assert len(np.unique(row_keys(nans), axis=0)) == 1
    edges = np.array([0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny, 1.0], dtype)
    assert len(np.unique(row_keys(edges), axis=0)) == 6


def test_subnormal_numbers_are_not_zero_even_when_the_processor_flushes_them() -> None:
    tiny = np.array([[1e-40], [0.0]], np.float32)
    expected = row_keys(tiny)
    assert (expected[0] != expected[1]).any()
    flushing = torch.set_flush_denormal(True)
    try:
        assert (row_keys(tiny) == expected).all()
    finally:
        torch.set_flush_denormal(False)
    if not flushing:
        pytest.skip("this processor cannot flush subnormal numbers")


def test_the_callers_array_is_not_changed() -> None:
    array = np.array([[-0.0, np.nan]])
    before = array.tobytes()
    row_keys(array)
    assert array.tobytes() == before


def test_dtype_and_shape_are_part_of_the_query() -> None:
    row = np.arange(6)
    variants = [
        row.astype(np.float32)[None],
        row.astype(np.float64)[None],
        row.astype(np.int64)[None],
        row.astype(np.float32).reshape(1, 2, 3),
        row.astype(np.float32).reshape(1, 3, 2),
        row.astype(np.float32).reshape(1, 6, 1),
        [row.astype(np.float32).tobytes()],
    ]
    keys = np.concatenate([row_keys(variant) for variant in variants])
    assert len(np.unique(keys, axis=0)) == len(variants)


@pytest.mark.parametrize(
    "change",
    [
        {"secret": bytes(range(1, 33))},
        {"model_version": "2"},
        {"base_variance": 1.5},
        {"temperature": 2.0},
        {"preserve_top1": False},
    ],
)
def test_secret_version_and_config_separate_the_keys(change: dict[str, Any]) -> None:
    queries = np.eye(4)
    keys = hash_with(**change).row_keys(queries, (4,))
    assert (keys != row_keys(queries)).any(axis=1).all()


def test_parts_cannot_be_shifted_into_each_other() -> None:
    first = hash_with(model_version="a").row_keys([b"bc"], (1,))
    second = hash_with(model_version="ab").row_keys([b"c"], (1,))
    assert (first != second).any()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8", "bool"])
def test_torch_and_numpy_queries_are_the_same(dtype: str) -> None:
    array = np.arange(12).reshape(4, 3).astype(dtype)
    tensor = torch.from_numpy(array)
    assert same(array, tensor)
    assert same(array, tensor.clone().t().contiguous().t())


def test_bfloat16_is_one_dtype_in_both_worlds_and_not_float32() -> None:
    values = np.array([[1.5, -0.0], [np.nan, 2.0]], np.float32)
    tensor = torch.from_numpy(values).bfloat16().requires_grad_()
    assert same(tensor, values.astype(ml_dtypes.bfloat16))
    assert not same(tensor, values)


def test_queries_may_be_bytes_of_any_length() -> None:
    keys = row_keys([b"", b"a", bytearray(b"ab"), memoryview(b"abc")])
    assert len(np.unique(keys, axis=0)) == 4
    assert same((b"a", b"ab"), [bytearray(b"a"), memoryview(b"ab")])


def test_leading_axes_are_rows() -> None:
    queries = np.random.default_rng(0).normal(size=(2, 3, 5))
    assert (row_keys(queries, (2, 3)) == row_keys(queries.reshape(6, 5))).all()
    assert (row_keys(queries[0, 0], ()) == row_keys(queries.reshape(6, 5))[:1]).all()
    assert (row_keys(b"one", ()) == row_keys([b"one"])).all()
    assert (row_keys([b"1", b"2", b"3", b"4", b"5", b"6"], (2, 3))).shape == (6, 4)


@pytest.mark.parametrize("queries", [[], np.zeros((0, 4)), torch.zeros(0, 2)])
def test_no_rows_have_no_keys(queries: Any) -> None:
    assert row_keys(queries, (0,)).shape == (0, 4)


def test_a_query_may_be_a_single_number_or_nothing() -> None:
    assert len(np.unique(row_keys(np.arange(5)), axis=0)) == 5
    assert len(np.unique(row_keys(np.zeros((3, 0))), axis=0)) == 1


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (np.zeros((3, 4)), r"shape \(3, 4\) does not start with \(2,\), the rows"),
        (np.float64(1.0), r"shape \(\) does not start with \(2,\)"),
        ([b"a"], "1 for 2 rows of logits"),
        (b"a", "1 for 2 rows of logits"),
        (["a", "b"], r"pass text\.encode\(\)"),
        ([b"a", 1.0], "bytes and other objects are mixed"),
        ([[1.0], [1.0, 2.0]], "rows differ in length"),
        (np.array([{}, {}]), "dtype object has no canonical bytes"),
        (np.array([b"a", b"bc"]), r"dtype \|S2 has no canonical bytes"),
        (np.array(["a", "b"]), "dtype <U1 has no canonical bytes"),
        (np.zeros(2, "f4,i4"), "has no canonical bytes"),
        (np.zeros(2, "M8[s]"), "has no canonical bytes"),
        (np.zeros((2, 1), np.longdouble), "has no canonical bytes"),
        (np.ma.masked_array(np.zeros(2), mask=[0, 1]), "would lose its mask"),
        (torch.eye(2).to_sparse(), r"pass tensor\.to_dense\(\)"),
        (torch.zeros(2, 3, device="meta"), "holds no values"),
        (torch.zeros(2, 3).to(torch.float8_e5m2), r"dtype torch\.float8_e5m2 is unknown to numpy"),
    ],
)
def test_what_has_no_one_byte_form_is_refused(queries: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^queries: .*{message}"):
        row_keys(queries, (2,))


def test_fresh_keys_do_not_repeat_and_heed_no_seed() -> None:
    np.random.seed(0)  # noqa: NPY002
    first = fresh_row_keys(1000)
    np.random.seed(0)  # noqa: NPY002
    second = fresh_row_keys(1000)
    assert (first.shape, first.dtype) == ((1000, 4), np.uint32)
    assert len(np.unique(np.concatenate([first, second]), axis=0)) == 2000
    assert fresh_row_keys(0).shape == (0, 4)


def test_no_query_is_hashed_as_the_one_before_it() -> None:
    floats = np.arange(8, dtype=np.float32).reshape(2, 4)
    variants: list[Any] = [
        floats,
        floats.astype(np.float64),
        floats.astype(">f4"),
        floats.astype(np.int32),
        floats.reshape(2, 2, 2),
        floats[:, :0],
        floats > 1,
        [b"one", b"two"],
    ]
    kept = hash_with()
    for each in (*variants, *variants, *variants[::-1]):
        for _ in range(2):
            assert (kept.row_keys(each, (2,)) == row_keys(each)).all()
        with pytest.raises(ValueError, match="no canonical bytes"):
            kept.row_keys(np.array(["a", "b"]), (2,))
