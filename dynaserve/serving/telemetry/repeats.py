"""Counts rows that were asked before, from fingerprints that stay in the process.

Repeats are how fresh noise is averaged away, and how limits per row are tested; a service should
see how many come. Only a number leaves this module: which rows repeat, and whose, does not.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve import _core


class Repeats:
    """Remembers the rows that one worker saw lately.

    A table with one place for each remainder of a fingerprint: a new row takes the place of an
    older one, so that memory is bounded and a row is forgotten after about ``size`` others. Two
    rows share all 64 bits with a probability of 2^-64. Not for several threads at once.

    Parameters
    ----------
    size : int
        Rows to remember, a power of two; eight bytes each.

    Examples
    --------
    >>> import numpy as np
    >>> repeats = Repeats(size=1024)
    >>> repeats.of_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    1
    >>> repeats.of_rows(np.array([[3.0, 4.0]]))
    1
    """

    def __init__(self, size: int = 2**16) -> None:
        if size < 1 or size & (size - 1):
            raise ValueError("Repeats: size must be a power of two")
        self.table = np.zeros(size, np.uint64)
        self.key = os.urandom(16)

    def of_row_keys(self, row_keys: NDArray[np.uint32]) -> int:
        """Return how many rows were seen before, this call's own included.

        Parameters
        ----------
        row_keys : ndarray (n, 4), uint32, C-contiguous
            Those that keyed noise drew (``QueryKeys``): a keyed hash of each row already. Half of
            one is kept. Fresh noise has new keys for each call, which never repeat.
        """
        if not row_keys.size:
            return 0
        return _core.count_seen(self.table, row_keys.view(np.uint64)[:, 0])

    def of_rows(self, rows: NDArray[Any]) -> int:
        """Return how many rows (n, ...) of numbers were seen before, this call's own included.

        They are hashed under a key that this process draws: nobody can choose rows that collide.
        """
        if not rows.size:
            return 0
        hashes = _core.siphash(self.key, _core.canonical_bytes(rows), len(rows))
        return _core.count_seen(self.table, hashes)
