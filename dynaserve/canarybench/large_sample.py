"""An even sample of texts that come in batches, of bounded size and the same in any order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class Sample:
    """Texts drawn evenly from all that are added: those with the lowest keyed hashes of their ids.

    The same ids are drawn for a seed whatever their order, and whatever they are added with.

    Parameters
    ----------
    size
        How many to draw; all, if there are no more.
    seed
        Key of the hashes.

    Examples
    --------
    >>> from dynaserve.canarybench.terms import count_terms
    >>> sample = Sample(size=2, seed=0)
    >>> sample.add(["a", "b"], count_terms(["apple pie", "late train"]))
    >>> sample.add(["c"], count_terms(["late again"]))
    >>> sample.drawn().shape[0]
    2
    """

    size: int
    seed: int
    _hashes: list[NDArray[np.uint64]] = field(default_factory=list, init=False, repr=False)
    _counts: list[Any] = field(default_factory=list, init=False, repr=False)
    _highest: int = field(default=2**64 - 1, init=False, repr=False)

    def add(self, ids: Sequence[str], counts: Any) -> None:
        """Take in more texts.

        Parameters
        ----------
        ids
            Of n texts, all different over all calls.
        counts
            Their terms, sparse (n, d).
        """
        hashes = self._hashed(ids)
        low = np.flatnonzero(hashes <= self._highest)
        self._hashes.append(hashes[low])
        self._counts.append(counts[low])
        if sum(map(len, self._hashes)) > 2 * self.size:
            self._keep()

    def drawn(self) -> Any:
        """Return the terms of those drawn, sparse (at most ``size``, d), in random order."""
        self._keep()
        return self._counts[0]

    def _keep(self) -> None:
        from scipy.sparse import vstack  # noqa: PLC0415 - the canary extra

        hashes = np.concatenate(self._hashes)
        lowest = np.argsort(hashes, kind="stable")[: self.size]
        self._hashes = [hashes[lowest]]
        self._counts = [vstack(self._counts, format="csr")[lowest]]
        if len(lowest) == self.size:
            self._highest = int(self._hashes[0][-1])

    def _hashed(self, ids: Sequence[str]) -> NDArray[np.uint64]:
        key = f"{self.seed}/sample".encode()
        digests = (
            hashlib.blake2b(own.encode("utf-8", "surrogatepass"), key=key, digest_size=8).digest()
            for own in ids
        )
        return np.frombuffer(b"".join(digests), np.uint64)
