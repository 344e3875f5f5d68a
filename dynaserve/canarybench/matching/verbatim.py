"""Finds patterns letter by letter: all of them in one pass of an Aho-Corasick automaton.

The automaton walks only where the first letters of a pattern stand, which `grams` knows sooner.
It uses ``iter``: ``iter_long`` loses matches (pyahocorasick issue 189).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaserve.canarybench.matching.grams import GramSet, grams
from dynaserve.canarybench.matching.layers import Positions, Skeleton, image
from dynaserve.canarybench.matching.patterns import Pattern
from dynaserve.canarybench.matching.spelled import surroundings
from dynaserve.extras import needing

WIDTH = 8


class Occurrence(NamedTuple):
    """A pattern from ``start`` up to ``end`` in a skeleton."""

    pattern: Pattern
    start: int
    end: int


class Openings:
    """Where one of some texts may begin, by its first letters.

    Texts of fewer than ``WIDTH`` letters are told by as many as the shortest has.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        short: list[str] = []
        long: list[str] = []
        for text in texts:
            (short if len(text) < WIDTH else long).append(text)
        self._sets = [_first_letters(long, WIDTH)]
        if short:
            self._sets.append(_first_letters(short, min(map(len, short))))

    def find(self, image: NDArray[np.uint8]) -> Positions:
        """Return the places, ascending, in a padded image."""
        found = [members.find(image)[0] for members in self._sets]
        return found[0] if len(found) == 1 else np.union1d(*found)


def _first_letters(texts: list[str], width: int) -> GramSet:
    # Eight zeros end each image, so a gram of a head of ``width`` letters is its first one.
    heads = image("".join(text[:width] for text in texts))
    return GramSet(width, grams(heads, width)[::width])


class Verbatim:
    """Finds every occurrence of every pattern.

    Parameters
    ----------
    patterns
        By their skeletons.

    Raises
    ------
    ImportError
        Without pyahocorasick.
    """

    def __init__(self, patterns: dict[str, list[Pattern]]) -> None:
        self._automaton = _automaton(patterns)
        self._openings = Openings(patterns)
        self._longest = max(map(len, patterns), default=0)

    def find(self, skeleton: Skeleton, image: NDArray[np.uint8]) -> Iterator[Occurrence]:
        """Give the occurrences in a skeleton, of which ``image`` is the padded image."""
        openings = self._openings.find(image)
        for start, end in surroundings(openings, self._longest, len(skeleton.text)):
            for last, (length, patterns) in self._automaton.iter(skeleton.text[start:end]):
                stop = start + last + 1
                for pattern in patterns:
                    if pattern.fits(skeleton, stop - length, stop):
                        yield Occurrence(pattern, stop - length, stop)


def _automaton(patterns: dict[str, list[Pattern]]) -> Any:
    with needing("matching needs pyahocorasick", extra="canary"):
        import ahocorasick  # noqa: PLC0415 - an extra
    automaton = ahocorasick.Automaton()
    for text, owners in patterns.items():
        automaton.add_word(text, (len(text), owners))
    automaton.make_automaton()
    return automaton
