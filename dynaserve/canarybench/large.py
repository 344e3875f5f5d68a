"""Clusters of more texts than memory holds: hashed terms, and k-means fitted on a sample.

Texts come a batch at a time, and nothing depends on how they are cut into batches, nor on their
order. It knows neither users nor canaries, and reads no texts from files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.canarybench.terms import (
    TERMS,
    columns_of,
    common_terms,
    inverse_frequency,
    require_sklearn,
    weighted,
)
from dynaserve.npz import read_arrays, write_arrays

PER_CLUSTER = 256
"""Texts of a sample for each cluster that is looked for; more hardly move a centroid (FAISS, whose
k-means draws so many, says the same)."""
_BATCH = 4096
_DISTANCES = 1 << 22
"""Numbers to hold at a time when texts are compared with all centroids."""


def default_clusters(texts: int) -> int:
    """Return how many clusters to look for: the square root of the number of texts."""
    return max(1, math.isqrt(texts))


@dataclass(frozen=True)
class Nearest:
    """Which cluster each of n texts is in, and how well it fits.

    Attributes
    ----------
    labels
        int32 (n,).
    similarity
        Cosine of each text's vector to the centroid, float32 (n,); 0 without any known term.
    value
        The same times the vector's length, float32 (n,): the centroid value of Radev et al.
        (2004), the sum over a text's words of what the centroid holds of them.
    """

    labels: NDArray[np.int32]
    similarity: NDArray[np.float32]
    value: NDArray[np.float32]


@dataclass(frozen=True)
class Model:
    """Fitted clusters.

    Attributes
    ----------
    terms
        Which of the hashed terms count, ascending, int32 (t,).
    weights
        Their inverse document frequencies, float32 (t,).
    centroids
        float32 (t, c), a column for each cluster.
    """

    terms: NDArray[np.int32]
    weights: NDArray[np.float32]
    centroids: NDArray[np.float32]

    def nearest(self, counts: Any) -> Nearest:
        """Return the cluster of each text, from its terms, sparse (n, `HASHED`)."""
        vectors, lengths = weighted(counts, self._column_of, self.weights)
        lengths = lengths.astype(np.float32)
        labels = np.empty(len(lengths), np.int32)
        cosines = np.empty(len(lengths), np.float32)
        step = max(1, _DISTANCES // self.centroids.shape[1])
        for start in range(0, len(lengths), step):
            dots = np.asarray(vectors[start : start + step] @ self.centroids)
            # |x - c|² without |x|², which is the same for all c
            best = np.argmin(self._squares - 2 * dots, axis=1)
            labels[start : start + step] = best
            cosines[start : start + step] = dots[np.arange(len(best)), best]
        norms = np.sqrt(self._squares)[labels]
        similarity = np.divide(cosines, norms, out=np.zeros_like(cosines), where=norms > 0)
        return Nearest(labels, similarity, similarity * lengths)

    def save(self, path: Path) -> None:
        """Write it to an ``.npz`` file."""
        arrays = {"terms": self.terms, "weights": self.weights, "centroids": self.centroids}
        write_arrays(path, arrays)

    @classmethod
    def load(cls, path: Path) -> Model:
        """Read what `save` wrote.

        Raises
        ------
        ValueError
            The file is none.
        """
        arrays = read_arrays(path, ("terms", "weights", "centroids"))
        if len(arrays) < 3:
            raise ValueError(f"{path}: is no model of clusters")
        return cls(arrays["terms"], arrays["weights"], arrays["centroids"])

    @cached_property
    def _column_of(self) -> NDArray[np.int32]:
        return columns_of(self.terms)

    @cached_property
    def _squares(self) -> NDArray[np.float32]:
        return np.asarray(np.einsum("tc,tc->c", self.centroids, self.centroids))


def fit(
    counts: Any, frequency: NDArray[np.int64], texts: int, *, clusters: int, seed: int
) -> Model:
    """Find clusters.

    Parameters
    ----------
    counts
        Terms of a `dynaserve.canarybench.large_sample.Sample`, sparse (n, `HASHED`), n >= 1.
    frequency
        In how many of all texts each term stands, (`HASHED`,).
    texts
        How many that are in all.
    clusters
        How many to look for, at least 1; fewer come out where fewer texts differ.
    seed
        Of the first centroids and of the mini-batches.

    Raises
    ------
    ImportError
        Without scikit-learn.
    """
    terms = common_terms(frequency, fewest=max(2, texts // (2 * clusters)), most=TERMS)
    if not len(terms):
        terms = np.zeros(1, np.int32)  # a model has a term, even of texts that have none
    weights = inverse_frequency(frequency[terms], texts).astype(np.float32)
    vectors, _ = weighted(counts, columns_of(terms), weights)
    clusters = min(clusters, vectors.shape[0])
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - comes with scikit-learn

    method = require_sklearn("sklearn.cluster").MiniBatchKMeans(
        clusters,
        batch_size=max(_BATCH, 4 * clusters),
        n_init=1,
        compute_labels=False,
        random_state=seed,
    )
    # Threads would add up distances in an order of their own, and now and then tip a label.
    with threadpool_limits(limits=1):
        method.fit(vectors)
    centroids = np.ascontiguousarray(method.cluster_centers_.T, np.float32)
    return Model(terms, weights, centroids)
