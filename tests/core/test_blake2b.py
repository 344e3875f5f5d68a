"""Keyed BLAKE2b, against the one in Python's library."""

from __future__ import annotations

import hashlib
import re
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve import _core

KEY = bytes(range(64))


def in_python(key: bytes, message: bytes) -> bytes:
    return hashlib.blake2b(message, key=key, digest_size=16).digest()


@given(
    st.binary(min_size=1, max_size=64),
    st.binary(max_size=300),
    st.integers(1, 19),
    st.one_of(st.integers(1, 300), st.sampled_from([127, 128, 129, 255, 256, 257, 1000])),
)
def test_each_row_is_a_message_of_its_own(
    core: ModuleType, key: bytes, prefix: bytes, rows: int, size: int
) -> None:
    parts = [bytes((7 * row + 3 * at + size) % 256 for at in range(size)) for row in range(rows)]
    found = core.blake2b(key, prefix, b"".join(parts), rows)
    assert found.shape == (rows, 4)
    assert [row.tobytes() for row in found] == [in_python(key, prefix + part) for part in parts]


@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 256, 10_000])
def test_a_prefix_alone_is_a_message_too(size: int) -> None:
    prefix = bytes(at % 251 for at in range(size))
    assert _core.blake2b(KEY, prefix, b"", 1).tobytes() == in_python(KEY, prefix)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((b"", b"", b"", 1), ValueError, "key has 0 bytes; it must have 1 to 64"),
        ((bytes(65), b"", b"", 1), ValueError, "key has 65 bytes; it must have 1 to 64"),
        ((KEY, b"", b"12345", 2), ValueError, "data has 5 bytes, which 2 rows cannot share"),
        ((KEY, b"", b"", 0), ValueError, "which 0 rows cannot share"),
        ((KEY, b"", b"12345", 10), ValueError, "which 10 rows cannot share"),
        ((KEY, "secret", b"", 1), TypeError, "prefix must be bytes, not str"),
        ((KEY, b"", "secret", 1), TypeError, "data must be bytes, not str"),
        (("secret", b"", b"", 1), TypeError, "key must be bytes, not str"),
        ((KEY, b"", b"", "secret"), TypeError, "rows must be a number, not str"),
        ((KEY, b"secret"), TypeError, "the arguments do not fit blake2b(key, prefix, data, rows)"),
    ],
)
def test_what_does_not_fit_is_refused_and_not_repeated(
    arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)) as caught:
        _core.blake2b(*arguments)
    assert "secret" not in str(caught.value)
