from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

from dynaserve.defenses.rows import logits_of, require_logits, unwrap


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_native_arrays_are_viewed_not_copied(dtype: Any) -> None:
    array = np.zeros((3, 8), dtype)[:, ::2]
    assert np.shares_memory(unwrap(array).values, array)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_torch_tensors_on_the_cpu_are_viewed_not_copied(dtype: torch.dtype) -> None:
    tensor = torch.zeros(3, 4, dtype=dtype, requires_grad=True)
    rows = unwrap(tensor)
    assert rows.values.ctypes.data == tensor.data_ptr()
    assert rows.resolution == torch.finfo(dtype).eps


@pytest.mark.parametrize(
    ("array", "expected", "resolution"),
    [
        (np.array([[1.5, -2]], ">f4"), np.float32, 2.0**-23),
        (np.array([[1.5, -2]], ">f8"), np.float64, 2.0**-52),
        (np.array([[1.5, -2]], ml_dtypes.bfloat16), np.float32, 2.0**-7),
        (torch.tensor([[1.5, -2]], dtype=torch.bfloat16), np.float32, 2.0**-7),
        ([[1.5, -2.0]], np.float64, 2.0**-52),
        (np.array([[1.5, -2.0]]).view(np.recarray), np.float64, 2.0**-52),
    ],
)
def test_other_floats_become_native_ones(array: Any, expected: Any, resolution: float) -> None:
    rows = unwrap(array)
    assert type(rows.values) is np.ndarray
    assert rows.values.dtype == expected
    assert rows.values.dtype.isnative
    assert rows.values.tolist() == [[1.5, -2.0]]
    assert rows.resolution == resolution


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 3), int), "dtype int64 is not float16"),
        (np.zeros((2, 3), np.longdouble), r"dtype float\d+ is not float16"),
        (np.zeros((2, 3), ml_dtypes.float8_e5m2), "dtype float8_e5m2 is not float16"),
        (torch.zeros(2, 3).to(torch.float8_e4m3fn), r"dtype torch\.float8_e4m3fn is not float16"),
        (torch.eye(2).to_sparse(), r"layout torch\.sparse_coo; pass tensor\.to_dense\(\)"),
        (torch.zeros(2, 3, device="meta"), "a meta tensor, which holds no values"),
        (np.zeros((2, 3), bool), "dtype bool is not"),
        (np.zeros((2, 3), complex), "dtype complex128 is not"),
        (np.array([["a", "b"]]), "dtype <U1 is not"),
        (np.array([[None, 1.0]]), "dtype object is not"),
        ([[1, 2]], "dtype int64 is not"),
        ([[1.0], [1.0, 2.0]], "rows differ in length"),
        (torch.zeros(2, 3, dtype=torch.int64), r"dtype torch\.int64 is not"),
        (torch.zeros(2, 3, dtype=torch.complex64), r"dtype torch\.complex64 is not"),
        (np.ma.masked_array(np.zeros((1, 2)), mask=[[0, 1]]), "would lose its mask"),
        (np.zeros((3, 0)), r"shape \(3, 0\) has no classes"),
        (np.float64(1.0), r"shape \(\) has no classes"),
    ],
)
def test_what_is_no_float_array_is_refused_by_name(array: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^scores: .*{message}"):
        unwrap(array, "scores")


def test_wrapping_returns_the_callers_kind() -> None:
    result = np.zeros(3, np.float32)
    assert isinstance(unwrap(torch.zeros(1, 2)).wrap(result), torch.Tensor)
    assert unwrap(torch.zeros(1, 2)).wrap(result).device == torch.device("cpu")
    assert type(unwrap(np.zeros((1, 2))).wrap(result)) is np.ndarray


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ((1, 2, 3), np.nan, "row 1, 2 holds NaN"),
        ((0, 1, 0), np.inf, r"row 0, 1 holds \+inf"),
        ((1, 0), -np.inf, "row 1, 0 holds only -inf"),
    ],
)
def test_the_first_row_without_a_softmax_is_named(
    place: tuple[int, ...], value: float, message: str
) -> None:
    logits = np.zeros((2, 3, 4))
    logits[place] = value
    logits[1, 2, 3] = np.nan
    with pytest.raises(ValueError, match=message):
        require_logits(logits)


def test_good_masked_and_empty_logits_pass() -> None:
    require_logits(np.array([[0.0, -np.inf], [1e4, -1e4]]))
    require_logits(np.zeros((0, 2)))
    with pytest.raises(ValueError, match=r"1 class\(es\)"):
        require_logits(np.zeros((0, 1)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_probability_of_zero_is_a_small_number_and_no_mask(dtype: Any) -> None:
    logits = logits_of(np.array([[1.0, 0.0], [0.0, 1.0]], dtype))
    assert logits.dtype == np.promote_types(dtype, np.float32)
    assert logits.diagonal().tolist() == [0.0, 0.0]
    np.testing.assert_allclose([logits[0, 1], logits[1, 0]], -126 * np.log(2), rtol=1e-6)


def test_probabilities_below_the_smallest_normal_float32_are_alike() -> None:
    zero, subnormal, tiny = logits_of(np.array([[1.0, 0.0], [1.0, 1e-40], [1.0, 1e-300]]))
    assert zero.tolist() == subnormal.tolist() == tiny.tolist()


def test_log_probabilities_keep_kind() -> None:
    tensor = logits_of(torch.tensor([[0.5, 0.5]], dtype=torch.bfloat16))
    assert tensor.dtype == torch.float32
    assert tensor.tolist() == [[np.log(np.float32(0.5))] * 2]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("classes", [2, 10, 1000, 50_000])
def test_the_softmax_of_every_dtype_is_accepted(dtype: torch.dtype, classes: int) -> None:
    logits = 3 * torch.randn(8, classes, generator=torch.Generator().manual_seed(0))
    logits_of(torch.softmax(logits.to(dtype), -1))


def test_sums_that_rounding_explains_are_accepted() -> None:
    np.testing.assert_allclose(logits_of(np.array([0.5, 0.4995]))[0], np.log(0.5))


def test_a_row_is_named_by_all_its_indices() -> None:
    q = np.full((2, 3, 4), 0.25)
    q[1, 2] = 0.5
    with pytest.raises(ValueError, match=r"^scores: row 1, 2 holds a sum other than 1"):
        logits_of(q, "scores")
    q[0, 1, 3] = -1
    with pytest.raises(ValueError, match=r"^scores: row 0, 1 holds a value outside"):
        logits_of(torch.from_numpy(q), "scores")
    with pytest.raises(ValueError, match=r"^scores: the row holds a sum other than 1"):
        logits_of(np.array([0.9, 0.2]), "scores")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.7, 0.7], "a sum other than 1"),
        ([0.5, 0.49], "a sum other than 1"),
        ([0.0, 0.0], "a sum other than 1"),
        ([1.5, -0.5], "a value outside"),
        ([np.nan, 1.0], "a value outside"),
        ([np.inf, 0.0], "a value outside"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_is_no_distribution_is_refused_by_row(row: Any, message: str, dtype: Any) -> None:
    with pytest.raises(ValueError, match=f"probabilities: row 1 holds {message}"):
        logits_of(np.array([[0.5, 0.5], row, row], dtype))
