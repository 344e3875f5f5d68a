"""Clusters of texts that say similar things: TF-IDF and k-means.

The result depends on the texts and the seed alone, not on the number of threads. It knows
neither users nor canaries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.canarybench.terms import (
    HASHED,
    TERMS,
    columns_of,
    common_terms,
    count_terms,
    inverse_frequency,
    require_sklearn,
    weighted,
)

LARGE = 20_000
"""From this many texts on, k-means looks at mini-batches: all at once would take minutes."""
_BATCH = 4096

Embedding = Callable[[Sequence[str]], NDArray[Any]]
"""n texts to n vectors, float (n, d)."""


@dataclass(frozen=True)
class Clustering:
    """Which text is in which cluster, and how well it fits.

    Parameters
    ----------
    members
        One array of positions in the texts per cluster, those first that say most of what the
        cluster is about; the largest cluster first. Every text is in exactly one cluster.
    similarity
        Cosine of each text's vector to the centroid of its cluster, float64 (n,); 0 for a text
        without any known term.
    """

    members: tuple[NDArray[np.intp], ...]
    similarity: NDArray[np.float64]

    def coherence(self, clusters: Iterable[int] | None = None) -> float:
        """Return the mean cosine of members to their centroid.

        Parameters
        ----------
        clusters
            Numbers of the clusters whose members count; all by default. Of none it is NaN.
        """
        chosen = range(len(self.members)) if clusters is None else clusters
        counted = [self.similarity[self.members[number]] for number in chosen]
        return float(np.concatenate(counted).mean()) if counted else math.nan


def cluster(
    texts: Sequence[str],
    *,
    clusters: int | None = None,
    embed: Embedding | None = None,
    seed: int = 0,
) -> Clustering:
    """Put texts that say similar things together.

    Parameters
    ----------
    texts
        At least one.
    clusters
        How many to look for; by default the square root of the number of texts, rounded down,
        which gives the paper's 54 for 3,000. Fewer come out where fewer texts differ.
    embed
        What to use instead of TF-IDF: texts to float vectors (n, d).
    seed
        Of the first centroids.

    Raises
    ------
    ValueError
        Without texts, for fewer than one cluster, or for vectors that do not fit the texts.
    ImportError
        Without scikit-learn.

    Examples
    --------
    >>> result = cluster(["red apple pie", "late train", "the train is late", "an apple pie"])
    >>> [sorted(group.tolist()) for group in result.members]
    [[0, 3], [1, 2]]
    """
    if not texts:
        raise ValueError("texts: needs at least one")
    wanted = math.isqrt(len(texts)) if clusters is None else clusters
    if wanted < 1:
        raise ValueError(f"clusters: must be at least 1, got {clusters}")
    if embed is None:
        vectors, lengths = _tf_idf(texts, fewest=max(2, len(texts) // (2 * wanted)))
    else:
        vectors, lengths = _embedded(texts, embed), np.ones(len(texts))
    labels = _k_means(vectors, min(wanted, _distinct(vectors)), seed)
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    similarity = np.zeros(len(texts))
    for group in groups:
        similarity[group] = _cosines_to_mean(vectors[group])
    # With lengths this is the centroid value of Radev et al. (2004): the sum, over the words of
    # a text, of what the centroid holds of them.
    value = similarity * lengths
    members = (group[np.argsort(-value[group], kind="stable")] for group in groups)
    return Clustering(
        members=tuple(sorted(members, key=lambda group: (-len(group), group.min()))),
        similarity=similarity,
    )


def _tf_idf(texts: Sequence[str], *, fewest: int) -> tuple[Any, NDArray[np.float64]]:
    """Return sparse TF-IDF vectors of unit length, (n, terms), and how long they were, (n,).

    A text without terms has the vector 0.
    """
    counts = count_terms(texts, np.float64)
    frequency = np.bincount(counts.indices, minlength=HASHED)
    terms = common_terms(frequency, fewest=fewest, most=TERMS)
    if not len(terms):
        return np.zeros((len(texts), 1)), np.zeros(len(texts))
    weights = inverse_frequency(frequency[terms], len(texts))
    return weighted(counts, columns_of(terms), weights)


def _embedded(texts: Sequence[str], embed: Embedding) -> NDArray[np.float64]:
    """Return a caller's vectors, checked and of unit length or zero."""
    vectors = np.asarray(embed(texts), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
        raise ValueError(f"embed: needs shape ({len(texts)}, d), got {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise ValueError("embed: gave vectors that are not finite")
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0))


def _k_means(vectors: Any, clusters: int, seed: int) -> NDArray[np.int32]:
    """Return the label of each vector, (n,)."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - comes with scikit-learn

    methods = require_sklearn("sklearn.cluster")
    method = (
        methods.MiniBatchKMeans(clusters, batch_size=_BATCH, n_init=1, random_state=seed)
        if vectors.shape[0] >= LARGE
        else methods.KMeans(clusters, n_init=1, random_state=seed)
    )
    # Threads would add up distances in an order of their own, and now and then tip a label.
    with threadpool_limits(limits=1):
        return np.asarray(method.fit_predict(vectors), dtype=np.int32)


def _distinct(vectors: Any) -> int:
    """Return how many different vectors there are: k-means cannot make more clusters."""
    probe = np.random.default_rng(0).standard_normal(vectors.shape[1])
    return int(np.unique((vectors @ probe).round(9)).size)


def _cosines_to_mean(vectors: Any) -> NDArray[np.float64]:
    """Return the cosine of each vector of unit length, or zero, to the mean of them all."""
    mean = np.asarray(vectors.mean(axis=0)).ravel()
    length = float(np.linalg.norm(mean))
    cosines = np.asarray(vectors @ mean, dtype=np.float64).ravel()
    return cosines / length if length > 0 else cosines
