"""SipHash-2-4 against the values of its authors, and what it takes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dynaserve import _core

KEY = bytes(range(16))

# Of the messages of 0, 1, ... bytes 00 01 02 ..., as in the authors' vectors.h; the one of 15
# bytes is appendix A of the paper.
PUBLISHED = {
    0: 0x726FDB47DD0E0E31,
    1: 0x74F839C593DC67FD,
    7: 0xAB0200F58B01D137,
    8: 0x93F5F5799A932462,
    15: 0xA129CA6149BE45E5,
    63: 0x958A324CEB064572,
}


def rotated(x: int, bits: int) -> int:
    return (x << bits | x >> (64 - bits)) & (2**64 - 1)


def by_the_paper(key: bytes, message: bytes) -> int:
    """Compute section 2 of the paper, step by step."""
    k0, k1 = (int.from_bytes(key[at : at + 8], "little") for at in (0, 8))
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573

    def rounds(count: int) -> None:
        nonlocal v0, v1, v2, v3
        for _ in range(count):
            v0, v2 = (v0 + v1) % 2**64, (v2 + v3) % 2**64
            v1, v3 = rotated(v1, 13) ^ v0, rotated(v3, 16) ^ v2
            v0 = rotated(v0, 32)
            v2, v0 = (v2 + v1) % 2**64, (v0 + v3) % 2**64
            v1, v3 = rotated(v1, 17) ^ v2, rotated(v3, 21) ^ v0
            v2 = rotated(v2, 32)

    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v3 ^= word
        rounds(2)
        v0 ^= word
    v2 ^= 0xFF
    rounds(4)
    return v0 ^ v1 ^ v2 ^ v3


@pytest.mark.parametrize("size", PUBLISHED)
def test_it_gives_the_published_values(size: int) -> None:
    message = bytes(range(size))
    assert by_the_paper(KEY, message) == PUBLISHED[size]
    assert _core.siphash(KEY, message, 1).tolist() == [PUBLISHED[size]]


@pytest.mark.parametrize("size", [1, 7, 8, 9, 40, 255, 256, 1000])
def test_each_row_is_a_message_of_its_own(size: int) -> None:
    key = bytes(range(100, 116))
    rows = [bytes((7 * row + 3 * at) % 256 for at in range(size)) for row in range(5)]
    found = _core.siphash(key, b"".join(rows), 5).tolist()
    assert found == [by_the_paper(key, row) for row in rows]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((b"short", b"", 1), ValueError, "key has 5 bytes; it must have 16"),
        ((KEY, b"12345", 2), ValueError, "data has 5 bytes, which 2 rows cannot share equally"),
        ((KEY, b"", 0), ValueError, "which 0 rows cannot share"),
        *(
            ((KEY, b"12345", rows), ValueError, f"which {rows:g} rows cannot share")
            for rows in (-1, 2.5, 10, 1e300, float("nan"), float("inf"))
        ),
        ((KEY, "secret", 1), TypeError, "data must be bytes, not str"),
        (("secret", b"", 1), TypeError, "key must be bytes, not str"),
        ((KEY, b"", "secret"), TypeError, "rows must be a number, not str"),
        ((KEY, b"secret"), TypeError, "the arguments do not fit siphash(key, data, rows)"),
    ],
)
def test_what_does_not_fit_is_refused_and_not_repeated(
    arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)) as caught:
        _core.siphash(*arguments)
    assert "secret" not in str(caught.value)
