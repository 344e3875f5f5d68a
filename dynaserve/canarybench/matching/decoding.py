"""One level of encoding less.

Whatever looks encoded is decoded where it stands. What it was before is searched too, so decoding
what never was encoded costs time and hides nothing.
"""

from __future__ import annotations

import string
from collections.abc import Iterator

import numpy as np

from dynaserve.canarybench.matching.escapes import unescaped
from dynaserve.canarybench.matching.layers import Layer
from dynaserve.canarybench.matching.pieces import Piece, replaced
from dynaserve.canarybench.matching.tokens import decoded_tokens

_FEWEST_SPACED = 8
_WIDEST_GAP = 4
_SIGNS = np.array([ord(sign) for sign in string.punctuation], np.uint32)


def decoded(layer: Layer, context: int) -> Layer | None:
    """Return what is encoded in a layer, decoded, with ``context`` characters on either side.

    None if nothing is.
    """
    pieces = list(unescaped(layer.text))
    edges = {edge for piece in pieces for edge in (piece.start, piece.end)}
    # A token that touches an escape may go on behind it: one level down it is whole.
    pieces += (
        token
        for token in decoded_tokens(layer.text)
        if token.start not in edges and token.end not in edges
    )
    pieces += _spaced_out(layer.text)
    return replaced(layer, pieces, context) if pieces else None


def _spaced_out(text: str) -> Iterator[Piece]:
    """Give words whose letters stand apart, ``l i k e  t h i s``, put together."""
    codes = np.frombuffer(f" {text} ".encode("utf-32-le", "surrogatepass"), np.uint32)
    blank, sign = codes <= ord(" "), np.isin(codes, _SIGNS)
    # The first and the last letter may touch a quotation mark or the end of a sentence.
    edge = blank | sign
    letter = ~edge[1:-1] & edge[:-2] & edge[2:]
    alone = np.flatnonzero(letter | (sign[1:-1] & blank[:-2] & blank[2:]))
    breaks = np.flatnonzero(np.diff(alone) > _WIDEST_GAP) + 1
    firsts, lasts = np.r_[0, breaks], np.r_[breaks, len(alone)]
    many = lasts - firsts >= _FEWEST_SPACED
    for first, last in zip(firsts[many], lasts[many], strict=True):
        places = alone[first:last]
        letters = "".join(text[place] for place in places)
        yield Piece(int(places[0]), int(places[-1]) + 1, letters, places, places + 1)
