"""Tensors from the wire as rows that the model was made for, or a refusal.

A row is the query that keyed noise depends on. So one row must become the same bytes here as in
``POST /predict``, whatever it was sent as; that is why everything ends in `fitted`. Refusals use
the words of ``requests``, and quote nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.serving.inference.datatypes import datatype_of
from dynaserve.serving.refused import RefusedError, TooLargeError
from dynaserve.serving.requests import at, needed, read_rows, require_columns

NAME = "inputs"
"""What the one input tensor is called, as in ``POST /predict``."""

Shape = tuple[int, ...]


def checked_shape(
    value: Any, row: tuple[int | None, ...], max_rows: int, max_columns: int | None = None
) -> Shape:
    """Return the shape of a tensor of rows, as its sender gives it.

    Parameters
    ----------
    value
        What JSON gave.
    row : tuple of int or None
        Shape of one row; None where any size will do.
    max_rows : int
        Most rows in one request.
    max_columns : int or None
        Most numbers in a row.

    Raises
    ------
    TooLargeError
        There are more rows than that, or numbers in them.
    RefusedError
        It is no shape, or not that of rows of this model.
    """
    if not isinstance(value, list) or not all(type(size) is int and size >= 0 for size in value):
        raise RefusedError(f'the shape of "{NAME}" must be a list of whole numbers from 0 up')
    if len(value) != 1 + len(row):
        wanted = ", ".join(["rows", *("any" if size is None else str(size) for size in row)])
        raise RefusedError(
            f'the shape of "{NAME}" has {len(value)} sizes instead of {1 + len(row)}; '
            f"send [{wanted}]"
        )
    if value[0] == 0:
        raise RefusedError(f'"{NAME}" holds no rows; send at least one')
    if value[0] > max_rows:
        raise TooLargeError(f'"{NAME}" holds {value[0]} rows; send at most {max_rows} at once')
    for axis, (size, wanted_size) in enumerate(zip(value[1:], row, strict=True), start=1):
        if size != wanted_size and (wanted_size is not None or size == 0):
            instead = "at least 1" if wanted_size is None else wanted_size
            raise RefusedError(f"{at((0,) * axis)} holds {size} values instead of {instead}")
    require_columns(tuple(value[1:]), max_columns)
    return tuple(value)


def from_bytes(raw: memoryview, dtype: np.dtype[Any], shape: Shape) -> NDArray[Any]:
    """Return raw values as an array over the same memory, perhaps unaligned.

    Parameters
    ----------
    raw : memoryview
        Values in C order, without gaps, in ``dtype``'s byte order.
    dtype : numpy.dtype
        Of the values.
    shape : tuple of int
        One that `checked_shape` let pass.

    Raises
    ------
    RefusedError
        There are more or fewer bytes than the shape needs.
    """
    wanted = math.prod(shape) * dtype.itemsize  # a Python integer: it does not overflow
    if len(raw) != wanted:
        raise RefusedError(
            f'"{NAME}" has {len(raw)} bytes of binary data; its shape and datatype need {wanted}'
        )
    return np.frombuffer(raw, dtype).reshape(shape)


def from_json(data: Any, dtype: np.dtype[Any], shape: Shape) -> NDArray[Any]:
    """Return JSON values, flat in C order or nested like ``shape``, in ``dtype``.

    Raises
    ------
    RefusedError
        They are not that many numbers, or not numbers that ``dtype`` holds.
    """
    if not isinstance(data, list):
        raise RefusedError(f'the data of "{NAME}" must be a list of numbers')
    if not (data and isinstance(data[0], list)):
        if len(data) != math.prod(shape):
            raise RefusedError(
                f'"{NAME}" holds {len(data)} values; its shape needs {math.prod(shape)}'
            )
        for size in shape[:0:-1]:
            data = [data[start : start + size] for start in range(0, len(data), size)]
    elif len(data) != shape[0]:
        raise RefusedError(f'"{NAME}" holds {len(data)} rows; its shape says {shape[0]}')
    return read_rows(data, dtype, shape[1:], max_rows=shape[0])


def fitted(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return values in the model's dtype, the very ones that JSON's would become.

    Raises
    ------
    RefusedError
        The model takes whole numbers and these are none, or one is not finite in ``dtype``.
    """
    if dtype.kind == "f":
        if values.dtype.kind != "f":
            values = values.astype(np.float64)  # JSON's are that first, so large ones round twice
        with np.errstate(over="ignore"):
            rows = values.astype(dtype, copy=False)
        good = np.isfinite(rows)
    elif values.dtype.kind == "f":
        raise RefusedError(
            f'"{NAME}" is {datatype_of(values.dtype)}; {needed({int})}, in {datatype_of(dtype)}'
        )
    else:
        # Bounds that both types hold: numpy would compare others as floats, or not at all.
        own, wanted = np.iinfo(values.dtype), np.iinfo(dtype)
        good = (values >= max(own.min, wanted.min)) & (values <= min(own.max, wanted.max))
        rows = values.astype(dtype, copy=False)
    if not good.all():
        limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
        place = tuple(np.argwhere(~good)[0].tolist())
        raise RefusedError(f"{at(place)} is not between {limits.min:.8g} and {limits.max:.8g}")
    return rows
