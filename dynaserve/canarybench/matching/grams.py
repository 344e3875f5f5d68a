"""Which places of a text are worth a closer look: a lookup of n letters at every place at once.

A Bloom filter over hashed runs of ``width`` letters passes nearly nothing of a text that holds no
canary; what it passes is looked up exactly. Plain numpy, a few nanoseconds a character.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynaserve.canarybench.matching.layers import Positions

Grams = NDArray[np.uint64]
_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_MIN_BITS, _MAX_BITS = 16, 26


def grams(image: NDArray[np.uint8], width: int) -> Grams:
    """Return the ``width`` <= 8 letters from each place of a padded image on, as one number each.

    (n + 8,) to (n - width + 1,); empty if the text is shorter.
    """
    count = max(len(image) - 8 - width + 1, 0)
    eight = np.ndarray((count,), "<u8", buffer=np.ascontiguousarray(image), strides=(1,))
    return eight & np.uint64((1 << 8 * width) - 1)


class GramSet:
    """A set of grams of one width that finds its members in texts.

    Parameters
    ----------
    width
        Letters to a gram, 1 to 8.
    members
        Grams in any order, repeated or not.
    """

    def __init__(self, width: int, members: Grams) -> None:
        self.width = width
        self.keys: Grams = np.unique(members)
        wanted = int(len(self.keys) * 16).bit_length()
        self._shift = np.uint64(64 - min(max(wanted, _MIN_BITS), _MAX_BITS))
        self._filters = []
        for multiplier in _MULTIPLIERS:
            passes = np.zeros(1 << (64 - int(self._shift)), bool)
            passes[self.keys * multiplier >> self._shift] = True
            self._filters.append(passes)

    def find(self, image: NDArray[np.uint8]) -> tuple[Positions, Positions]:
        """Return the places of a text where a member begins, ascending, and which."""
        every = grams(image, self.width)
        places: Positions = np.arange(0)
        if not len(self.keys):
            return places, places
        first, second = (
            (multiplier, passes)
            for multiplier, passes in zip(_MULTIPLIERS, self._filters, strict=True)
        )
        places = np.flatnonzero(first[1][every * first[0] >> self._shift])
        found = every[places]
        passing = second[1][found * second[0] >> self._shift]
        places, found = places[passing], found[passing]
        index = np.minimum(np.searchsorted(self.keys, found), len(self.keys) - 1)
        true = self.keys[index] == found
        return places[true], index[true]
