"""Texts that remember where each of their characters came from.

A `Layer` is the text as it was given, or what is left of it once something was decoded. A
`Skeleton` is what of a layer tells words apart. Places found in either lead back to the original.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynaserve.canarybench.matching.letters import letters, plain

Positions = NDArray[np.int64]
_PADDING = 8
"""Zero bytes behind an image, so that eight can be read at every place."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A text with the places [starts[i], ends[i]) of each character in the original."""

    text: str
    starts: Positions
    ends: Positions

    @classmethod
    def of(cls, text: str, start: int = 0) -> Layer:
        """Return a text that lies in the original as it is, from ``start`` on."""
        starts = np.arange(start, start + len(text))
        return cls(text, starts, starts + 1)

    def plain(self) -> Layer:
        """Return the layer in plain characters: the same for ASCII."""
        if self.text.isascii():
            return self
        text, origins = _mapped(self.text, plain)
        return Layer(text, self.starts[origins], self.ends[origins])

    def mirrored(self) -> Layer:
        """Return the layer from its end to its beginning."""
        return Layer(self.text[::-1], self.starts[::-1], self.ends[::-1])

    def skeleton(self) -> Skeleton:
        """Return its letters and digits, folded."""
        if self.text.isascii():
            folded = _ASCII[np.frombuffer(self.text.encode("ascii"), np.uint8)]
            places = np.flatnonzero(folded)
            return Skeleton(self, folded[places].tobytes().decode("ascii"), places, places)
        text, places = _mapped(self.text, letters)
        return Skeleton(self, text, places, places)


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Letters and digits of a layer; character i stands for layer.text[first[i] : last[i] + 1]."""

    layer: Layer
    text: str
    first: Positions
    last: Positions

    @classmethod
    def of(cls, text: str) -> Skeleton:
        """Return the skeleton of an original text."""
        return Layer.of(text).plain().skeleton()

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return where in the original the characters [start, end) come from."""
        edges = [start, end - 1]
        starts, ends = self.layer.starts[self.first[edges]], self.layer.ends[self.last[edges]]
        return int(starts.min()), int(ends.max())

    def touches(self, index: int) -> bool:
        """Return whether nothing lies between the characters index and index + 1."""
        pair = slice(index, index + 2)
        return bool(self.first[pair].max() - self.last[pair].min() <= 1)

    def part(self, start: int, end: int) -> Skeleton:
        """Return the skeleton from ``start`` up to ``end``."""
        part = slice(start, end)
        return Skeleton(self.layer, self.text[part], self.first[part], self.last[part])

    def mirrored(self) -> Skeleton:
        """Return the skeleton from its end to its beginning."""
        return Skeleton(self.layer, self.text[::-1], self.first[::-1], self.last[::-1])


def skeleton_of(text: str) -> str:
    """Return the skeleton of a text alone."""
    return text.translate(_FOLD) if text.isascii() else "".join(map(letters, text))


def image(skeleton: str) -> NDArray[np.uint8]:
    """Return a skeleton as a byte per character and eight zeros; other letters than ASCII collide.

    (n + 8,), never 0 within the first n.
    """
    if skeleton.isascii():
        return np.frombuffer(skeleton.encode("ascii") + bytes(_PADDING), np.uint8)
    codes = _codes(skeleton)
    other = (codes * np.uint32(2654435761) >> np.uint32(25)) | np.uint32(128)
    mixed = np.where(codes < 128, codes, other).astype(np.uint8)
    return np.concatenate([mixed, np.zeros(_PADDING, np.uint8)])


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _mapped(text: str, mapping: Callable[[str], str]) -> tuple[str, Positions]:
    """Return the text mapped character by character, and the origin of each result."""
    codes = _codes(text)
    present = np.zeros(int(codes.max()) + 1, bool)
    present[codes] = True
    known = np.flatnonzero(present)
    slots = np.cumsum(present, dtype=np.int32) - 1
    mapped = [mapping(chr(code)) for code in known]
    lengths = np.array([len(piece) for piece in mapped])
    begins = np.cumsum(lengths) - lengths
    alphabet = _codes("".join(mapped))
    slot = slots[codes]
    counts = lengths[slot]
    if lengths.max() <= 1:
        origins = np.flatnonzero(counts)
        return _text(alphabet[begins[slot[origins]]]), origins
    origins = np.repeat(np.arange(len(codes)), counts)
    within = np.arange(len(origins)) - np.repeat(np.cumsum(counts) - counts, counts)
    result = alphabet[np.repeat(begins[slot], counts) + within]
    return _text(result), origins


def _text(codes: NDArray[np.uint32]) -> str:
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


_ASCII = np.array([ord(letters(chr(code)) or "\0") for code in range(128)], np.uint8)
_FOLD = {code: chr(folded) if folded else None for code, folded in enumerate(_ASCII.tolist())}
