"""Puts decoded text where the encoded one stood, and keeps track of where it came from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dynaserve.canarybench.matching.layers import Layer, Positions


class Piece(NamedTuple):
    """What stands for the characters [start, end) of a layer.

    Each of its own characters comes from [starts[i], ends[i]) of the layer.
    """

    start: int
    end: int
    text: str
    starts: Positions
    ends: Positions

    @classmethod
    def of(cls, start: int, end: int, text: str) -> Piece:
        """Return a piece all of whose characters come from all it stands for."""
        return cls(start, end, text, np.full(len(text), start), np.full(len(text), end))


def replaced(layer: Layer, pieces: Iterable[Piece], context: int) -> Layer:
    """Return pieces in place of what they stand for, with ``context`` characters on either side.

    Of pieces that overlap the first one counts. Stretches far apart are divided by a line break.
    """
    parts = [Layer("", *np.zeros((2, 0), int))]
    done, before = 0, 0
    for piece in sorted(pieces, key=lambda piece: (piece.start, piece.end)):
        if piece.start < done:
            continue
        if piece.start - done > before + context:
            parts += [_part(layer, done, done + before), _LINE_BREAK]
            done = piece.start - context
        parts += [_part(layer, done, piece.start), _placed(layer, piece)]
        done, before = piece.end, context
    parts.append(_part(layer, done, done + before))
    return Layer(
        "".join(part.text for part in parts),
        np.concatenate([part.starts for part in parts]),
        np.concatenate([part.ends for part in parts]),
    )


_LINE_BREAK = Layer("\n", *np.zeros((2, 1), int))


def _part(layer: Layer, start: int, end: int) -> Layer:
    part = slice(start, end)
    return Layer(layer.text[part], layer.starts[part], layer.ends[part])


def _placed(layer: Layer, piece: Piece) -> Layer:
    first, last = piece.starts, piece.ends - 1
    # The characters of a mirrored layer come in falling order.
    starts = np.minimum(layer.starts[first], layer.starts[last])
    return Layer(piece.text, starts, np.maximum(layer.ends[first], layer.ends[last]))


def bytes_of(text: str) -> tuple[Positions, Positions]:
    """Return the bytes [first, last) of each character of decoded UTF-8.

    What was none became a lone surrogate for each byte (``errors="surrogateescape"``).
    """
    if text.isascii():
        firsts = np.arange(len(text))
        return firsts, firsts + 1
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    escaped = (codes >= 0xDC80) & (codes <= 0xDCFF)
    widths = 1 + ((codes > 0x7F) & ~escaped) + ((codes > 0x7FF) & ~escaped) + (codes > 0xFFFF)
    lasts = np.cumsum(widths)
    return lasts - widths, lasts
