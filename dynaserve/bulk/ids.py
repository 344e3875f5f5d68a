"""Ids of rows: every row of an input has one of its own, however many rows there are.

An id is a string or a whole number. They are told apart by hashes of 8 bytes; where two hashes
are equal the ids themselves are looked at, so that nothing is refused by accident.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
_SIZE = 8


def is_id(value: object) -> bool:
    """Whether a value can be the id of a row."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def is_whole(text: str) -> bool:
    r"""Whether text holds no half of a character (a lone surrogate), which UTF-8 cannot hold.

    Examples
    --------
    >>> is_whole("é"), is_whole("\ud800")
    (True, False)
    """
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def hashes_of(ids: Sequence[Any]) -> Hashes:
    """Return the hashes, uint64 (n,), of the ids of n rows; what is no id gets a random one."""
    if {*map(type, ids)} == {int}:
        with suppress(OverflowError):
            return np.array(ids, np.int64).view(
                np.uint64
            )  # as `_hash` does, and many times quicker
    return np.frombuffer(b"".join(map(_hash, ids)), np.uint64)


def _hash(value: object) -> bytes:
    if not is_id(value):
        return os.urandom(_SIZE)
    if isinstance(value, int):
        return (value % (1 << 8 * _SIZE)).to_bytes(_SIZE, sys.byteorder)
    content = str(value).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=_SIZE).digest()


def first_repeated(
    hashes: Sequence[Hashes], id_at: Callable[[int, int], object]
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return where two rows with the same id are, as unit and row in it, or None.

    It takes 9 bytes of memory a row, beside the 8 of its hash.

    Parameters
    ----------
    hashes
        Of each unit.
    id_at
        Returns the id of a row of a unit.

    Examples
    --------
    >>> units = [["a", "b"], ["c", "a"]]
    >>> first_repeated([hashes_of(unit) for unit in units], lambda unit, row: units[unit][row])
    ((0, 0), (1, 1))
    """
    every = np.concatenate([np.empty(0, np.uint64), *hashes])
    every.sort()
    twice = np.unique(every[1:][every[1:] == every[:-1]])
    del every
    if not len(twice):
        return None
    seen: dict[object, tuple[int, int]] = {}
    for unit, own in enumerate(hashes):
        for row in map(int, np.flatnonzero(np.isin(own, twice))):
            identity = id_at(unit, row)
            if identity in seen:
                return seen[identity], (unit, row)
            seen[identity] = unit, row
    return None
