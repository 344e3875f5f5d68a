"""Which 128-bit key a row gets: all policy of the noise is here, none of it in the kernel.

Fresh keys come from the operating system, never from a generator whose seed a caller
controls. A keyed row's key is a keyed hash of the model version, the config and the query, so
the same query gets the same noise over batches, workers and restarts, and nobody without the
secret can predict it. Nothing here may depend on a row's place in its batch.
"""

from __future__ import annotations

import math
import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve import _core
from dynaserve.defenses.dynanoise.config import DynaNoiseConfig
from dynaserve.defenses.keys import NoiseKey
from dynaserve.defenses.rows import require_dense

_DOMAIN = b"dynaserve/dynanoise/row-key/1"
_KEY_BYTES = 16
_WORD = np.dtype("<u4")

_ADVICE = (
    "pass one query per row: an array with the leading shape of the logits, or a list of bytes"
)


def fresh_row_keys(rows: int) -> NDArray[np.uint32]:
    """Return unpredictable row keys, uint32 (rows, 4)."""
    return _as_words(os.urandom(_KEY_BYTES * rows))


def _as_words(digests: bytes) -> NDArray[np.uint32]:
    return np.ndarray((len(digests) // _KEY_BYTES, 4), _WORD, digests)


class QueryKeys:
    """Keyed row keys for one secret and one config.

    BLAKE2b (RFC 7693), keyed, absorbs a domain separator, the model version, the config, then
    the dtype and shape of a row, each with its length before it, and last the row itself.
    """

    def __init__(self, key: NoiseKey, config: DynaNoiseConfig) -> None:
        self._key = key
        self._common = _framed(_DOMAIN, config.model_version.encode(), config.canonical())
        self._before_bytes = self._prefix("bytes", ())
        self._last: tuple[Any, tuple[int, ...], bytes] = (None, (), b"")
        """A dtype, a shape and their prefix: those of the next query, most probably."""

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
        if type(queries) is np.ndarray and queries.dtype.kind != "V":
            dtype, array = queries.dtype, queries
        else:
            if isinstance(queries, (bytes, bytearray, memoryview)):
                queries = [queries]
            if _holds_bytes(queries):
                return self._of_bytes(_counted(list(queries), leading))
            dtype, array = _as_array(queries)
        axes, count = len(leading), math.prod(leading)
        if array.shape[:axes] != leading:
            raise ValueError(
                f"queries: shape {array.shape} does not start with {leading}, the rows of the "
                f"logits; {_ADVICE}"
            )
        # In a request all code is cold: to compare with the latest is cheaper than to look up.
        shape, last = array.shape[axes:], self._last
        if dtype is not last[0] or shape != last[1]:
            self._last = last = dtype, shape, self._prefix(dtype, shape)
        prefix = last[2]
        if not count:
            return np.empty((0, 4), np.uint32)
        if not array.size:  # rows of nothing are all the same
            return self._key.row_hashes(prefix, b"", 1).repeat(count, axis=0)
        return self._key.row_hashes(prefix, _core.canonical_bytes(array), count)

    def _prefix(self, dtype: np.dtype[Any] | str, shape: tuple[int, ...]) -> bytes:
        """Return what is hashed before rows of a dtype and shape."""
        name = dtype if isinstance(dtype, str) else _canonical_name(dtype)
        return self._common + _framed(name.encode(), repr(shape).encode())

    def _of_bytes(self, queries: list[bytes]) -> NDArray[np.uint32]:
        common = self._key.blake2b(digest_size=_KEY_BYTES)
        common.update(self._before_bytes)
        digests = []
        for query in queries:  # of any sizes, which the core does not hash side by side
            state = common.copy()
            state.update(query)
            digests.append(state.digest())
        return _as_words(b"".join(digests))


def _framed(*parts: bytes) -> bytes:
    """Return parts with the length of each before it."""
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


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


def _as_array(queries: Any) -> tuple[np.dtype[Any] | str, NDArray[Any]]:
    """Return what the rows are hashed as, and a numpy array that holds the same values."""
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
    return array.dtype, array


def _canonical_name(dtype: np.dtype[Any]) -> str:
    """Return what rows of a dtype are hashed as; refuse one that has no canonical bytes."""
    # A long double has bytes of padding, text and records depend on their neighbours' width.
    if dtype.kind not in "biufc" or dtype.itemsize > (16 if dtype.kind == "c" else 8):
        raise ValueError(f"queries: dtype {dtype} has no canonical bytes; " + _ADVICE)
    return dtype.newbyteorder("<").str
