"""Which 128-bit key a row gets: all policy of the noise is here, none of it in the kernel.

Fresh keys come from the operating system, never from a generator whose seed a caller
controls. A keyed row's key is a keyed hash of the model version, the config and the query, so
the same query gets the same noise over batches, workers and restarts, and nobody without the
secret can predict it. Nothing here may depend on a row's place in its batch.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses.dynanoise.config import DynaNoiseConfig
from dynaserve.defenses.keys import NoiseKey
from dynaserve.defenses.rows import require_dense

_DOMAIN = b"dynaserve/dynanoise/row-key/1"
_KEY_BYTES = 16
_BIT_PATTERNS: dict[int, tuple[Any, int]] = {
    2: (np.uint16, 0x7C00),
    4: (np.uint32, 0x7F80_0000),
    8: (np.uint64, 0x7FF0_0000_0000_0000),
}
"""Bytes of a float -> the unsigned type of its bits, and the bits of +inf (IEEE 754)."""

_ADVICE = (
    "pass one query per row: an array with the leading shape of the logits, or a list of bytes"
)


def fresh_row_keys(rows: int) -> NDArray[np.uint32]:
    """Return unpredictable row keys, uint32 (rows, 4)."""
    return _as_words(os.urandom(_KEY_BYTES * rows))


def _as_words(digests: bytes) -> NDArray[np.uint32]:
    return np.frombuffer(digests, "<u4").astype(np.uint32, copy=False).reshape(-1, 4)


class QueryKeys:
    """Keyed row keys for one secret and one config.

    BLAKE2b (RFC 7693), keyed, absorbs a domain separator, the model version, the config, then
    the dtype and shape of a row, each with its length before it, and last the row itself.
    """

    def __init__(self, key: NoiseKey, config: DynaNoiseConfig) -> None:
        self._prefix = key.blake2b(digest_size=_KEY_BYTES)
        _absorb(self._prefix, _DOMAIN, config.model_version.encode(), config.canonical())

    def row_keys(self, queries: Any, leading: tuple[int, ...]) -> NDArray[np.uint32]:
        """Return the row keys, uint32 (n, 4), of the n = prod(leading) queries.

        Parameters
        ----------
        queries
            A numpy array or torch tensor (*leading, ...) of booleans, integers, floats or
            complex numbers, or n objects of bytes. Equal rows get equal keys whatever their
            strides, byte order or batch; -0.0 equals 0.0 and one NaN any other. Rows of another
            dtype or shape are other queries.

        Raises
        ------
        ValueError
            For a dtype whose bytes do not define its value, or another number of rows.
        """
        kind, shape, rows = _canonical(queries, leading)
        prefix = self._prefix.copy()
        _absorb(prefix, kind.encode(), repr(shape).encode())
        return _as_words(b"".join(_digest(prefix, row) for row in rows))


def _absorb(state: hashlib.blake2b, *parts: bytes) -> None:
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)


def _digest(prefix: hashlib.blake2b, row: Any) -> bytes:
    state = prefix.copy()
    state.update(row)
    return state.digest()


def _canonical(
    queries: Any, leading: tuple[int, ...]
) -> tuple[str, tuple[int, ...], Sequence[Any] | NDArray[np.uint8]]:
    """Return dtype name, row shape and the buffers of the rows in their one accepted form."""
    if isinstance(queries, (bytes, bytearray, memoryview)):
        queries = [queries]
    if _holds_bytes(queries):
        return "bytes", (), _counted(list(queries), leading)
    kind, array = _as_array(queries)
    if array.shape[: len(leading)] != leading:
        raise ValueError(
            f"queries: shape {array.shape} does not start with {leading}, the rows of the logits; "
            + _ADVICE
        )
    shape = array.shape[len(leading) :]
    flat = _canonical_values(array).reshape(math.prod(leading), math.prod(shape))
    return kind, shape, flat.view(np.uint8)


def _holds_bytes(queries: Any) -> bool:
    if not isinstance(queries, (list, tuple)):
        return False
    if any(isinstance(query, str) for query in queries):
        raise ValueError("queries: text has no one byte form; pass text.encode() for each row")
    kinds = {isinstance(query, (bytes, bytearray, memoryview)) for query in queries}
    if len(kinds) == 2:
        raise ValueError("queries: bytes and other objects are mixed; " + _ADVICE)
    return kinds == {True}


def _counted(queries: list[Any], leading: tuple[int, ...]) -> list[bytes]:
    if len(queries) != math.prod(leading):
        raise ValueError(
            f"queries: {len(queries)} for {math.prod(leading)} rows of logits; " + _ADVICE
        )
    return [bytes(query) for query in queries]


def _as_array(queries: Any) -> tuple[str, NDArray[Any]]:
    """Return the dtype's name and a numpy array that holds the same values."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(queries, torch.Tensor):
        require_dense(torch, queries, "queries")
        if queries.dtype == torch.bfloat16:
            return "bfloat16", queries.float().numpy(force=True)
        try:
            queries = queries.numpy(force=True)
        except TypeError:
            raise ValueError(
                f"queries: dtype {queries.dtype} is unknown to numpy; cast it"
            ) from None
    if isinstance(queries, np.ma.MaskedArray):
        raise ValueError("queries: a masked array would lose its mask; fill it first")
    try:
        array = np.asarray(queries)
    except ValueError:
        raise ValueError("queries: rows differ in length; " + _ADVICE) from None
    if array.dtype.kind == "V" and array.dtype.name == "bfloat16":  # a name takes microseconds
        return "bfloat16", array.astype(np.float32)
    # A long double has bytes of padding, text and records depend on their neighbours' width.
    if array.dtype.kind not in "biufc" or array.dtype in (np.longdouble, np.clongdouble):
        raise ValueError(f"queries: dtype {array.dtype} has no canonical bytes; " + _ADVICE)
    return array.dtype.newbyteorder("<").str, array


def _canonical_values(array: NDArray[Any]) -> NDArray[Any]:
    """Return a C-ordered little-endian copy with one zero and one NaN.

    It works on bits, for float arithmetic would depend on the processor's flush-to-zero mode.
    """
    copy = np.array(array, dtype=array.dtype.newbyteorder("<"), order="C", copy=True, ndmin=1)
    if array.dtype.kind not in "fc":
        return copy
    size = array.dtype.itemsize // (2 if array.dtype.kind == "c" else 1)
    unsigned, infinity = _BIT_PATTERNS[size]
    bits = copy.view(np.dtype(unsigned).newbyteorder("<"))
    sign = 1 << (8 * size - 1)
    np.putmask(bits, bits == sign, 0)
    np.putmask(bits, (bits & (sign - 1)) > infinity, infinity | infinity >> 1)
    return copy
