"""Base64 and hex, which hide text in words without meaning.

A token may stand glued to other letters, so every phase is tried and whatever reads as text is
kept. It may run over line breaks.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dynaserve.canarybench.matching.layers import Positions
from dynaserve.canarybench.matching.pieces import Piece, bytes_of

_SHORTEST = 8
"""Characters of base64 that are worth a look."""
_CLASSES = np.zeros(256, np.uint8)
_SMALL, _CAPITAL, _DIGIT, _SIGN = 1, 2, 3, 4
for _class, _members in enumerate(
    ("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "+/-_"), 1
):
    _CLASSES[np.frombuffer(_members.encode(), np.uint8)] = _class
_HEX = re.compile("[0-9A-Fa-f]{12,}")
_READABLE = re.compile("[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]{6,}")
_URL_SAFE = str.maketrans("-_", "+/")


def decoded_tokens(text: str) -> Iterator[Piece]:
    """Give the readable text in tokens."""
    codes = np.frombuffer(text.encode("ascii", "replace"), np.uint8)
    places = _without_line_breaks(codes)
    codes = codes[places]
    for start, end in _suspects(_CLASSES[codes], np.diff(places) == 1):
        decoded, firsts, lasts = _decoded(codes[start:end].tobytes().decode("ascii"))
        if decoded:
            own = places[start:end]
            yield Piece(int(own[0]), int(own[-1]) + 1, decoded, own[firsts], own[lasts - 1] + 1)


def _without_line_breaks(codes: NDArray[np.uint8]) -> Positions:
    """Return the places of all characters but line breaks and the blanks around them."""
    written = np.flatnonzero(codes > ord(" "))
    after = np.unique(np.searchsorted(written, np.flatnonzero(codes == ord("\n"))))
    # A break lasts from behind a written character up to the next one.
    edges = np.r_[-1, written, len(codes)]
    change = np.zeros(len(codes) + 1, np.int8)
    change[edges[after] + 1] += 1
    change[edges[after + 1]] -= 1
    return np.flatnonzero(np.cumsum(change[:-1], dtype=np.int8) == 0)


def _suspects(classes: NDArray[np.uint8], adjacent: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the runs of base64's alphabet that no word or number is written like.

    Small letters, capitals and digits change within them, first and last characters of a line
    apart (where ``adjacent``, (n - 1,), is false, a line breaks); or 8 capitals or 12 digits
    follow each other.
    """
    inside = classes != 0
    letter = inside & (classes != _SIGN)
    mixed = np.zeros(len(classes), bool)
    if len(classes) > 3:
        changes = (classes[1:-2] != classes[2:-1]) & letter[1:-2] & letter[2:-1]
        changes &= inside[:-3] & inside[3:] & adjacent[:-2] & adjacent[1:-1] & adjacent[2:]
        mixed[1:-2] = changes
    for kind, first, last in ((_CAPITAL, 3, 7), (_DIGIT, 5, 11)):
        is_kind = classes == kind
        count = max(len(classes) - last, 0)
        mixed[:count] |= is_kind[:count] & is_kind[first : first + count] & is_kind[last:]
    # The ends of the text end runs too.
    outside = np.r_[-1, np.flatnonzero(~inside), len(classes)]
    run = np.unique(np.searchsorted(outside, np.flatnonzero(mixed)))
    starts, ends = outside[run - 1] + 1, outside[run]
    long = ends - starts >= _SHORTEST
    return list(zip(starts[long].tolist(), ends[long].tolist(), strict=True))


def _decoded(token: str) -> tuple[str, Positions, Positions]:
    """Return the readable text in a token, and the [first, last) of it for each character."""
    texts: list[str] = []
    firsts, lasts = [np.zeros(0, int)], [np.zeros(0, int)]
    for raw, per_byte, phase in _readings(token):
        characters = raw.decode("utf-8", "surrogateescape")
        if not _READABLE.search(characters):
            continue
        begins, ends = bytes_of(characters)
        for run in _READABLE.finditer(characters):
            own = slice(*run.span())
            first = phase + np.floor(begins[own] * per_byte).astype(int)
            last = phase + np.ceil(ends[own] * per_byte).astype(int)
            # Readings are different texts.
            texts += [run[0], "\n"]
            firsts += [first, first[-1:]]
            lasts += [last, last[-1:]]
    return "".join(texts), np.concatenate(firsts), np.concatenate(lasts)


def _readings(token: str) -> Iterator[tuple[bytes, float, int]]:
    """Give the bytes it may stand for, characters per byte, and the first character's index."""
    for run in _HEX.finditer(token):
        for phase in (run.start(), run.start() + 1):
            yield bytes.fromhex(token[phase : run.end() - (run.end() - phase) % 2]), 2.0, phase
    standard = token.translate(_URL_SAFE)
    for phase in range(4):
        body = standard[phase:]
        if len(body) % 4 == 1:
            body = body[:-1]
        yield binascii.a2b_base64(body + "=" * (-len(body) % 4)), 4 / 3, phase
