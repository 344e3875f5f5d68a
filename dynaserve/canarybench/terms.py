"""Texts as vectors: hashed words, weighted by TF-IDF.

What a text's vector is depends on that text, the terms that count and their weights alone. It
finds no clusters, and knows neither users nor canaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dynaserve.extras import needing

HASHED = 2**20
"""How many features terms are hashed to."""
TERMS = 2**14
"""Most frequent of them to keep; centroids are dense, so this bounds memory."""


def count_terms(texts: Sequence[str], dtype: DTypeLike = np.float32) -> Any:
    """Return how often each term stands in each text, sparse (n, `HASHED`).

    Raises
    ------
    ImportError
        Without scikit-learn.
    """
    hashing = require_sklearn("sklearn.feature_extraction.text").HashingVectorizer(
        n_features=HASHED, alternate_sign=False, norm=None, stop_words="english", dtype=dtype
    )
    # scikit-learn counts no terms of no texts: it raises.
    return hashing.transform(texts) if texts else hashing.transform([""])[:0]


def common_terms(frequency: NDArray[np.int64], *, fewest: int, most: int) -> NDArray[np.int32]:
    """Return the terms that can make a cluster, ascending; none if no text has any.

    Parameters
    ----------
    frequency
        In how many texts each term stands, (`HASHED`,).
    fewest
        A term of fewer texts does not count, unless there are no others.
    most
        How many to keep: the most frequent.
    """
    common = np.flatnonzero(frequency >= min(fewest, max(int(frequency.max()), 1)))
    if len(common) > most:
        common = np.sort(common[np.argsort(-frequency[common], kind="stable")[:most]])
    return common.astype(np.int32)


def columns_of(terms: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the column of each hashed term, (`HASHED`,), -1 for those that do not count."""
    columns = np.full(HASHED, -1, np.int32)
    columns[terms] = np.arange(len(terms))
    return columns


def inverse_frequency(frequency: NDArray[np.int64], texts: int) -> NDArray[np.float64]:
    """Return the weights of terms that stand in so many of all texts, (t,).

    As scikit-learn smooths them: as if one more text held every term.
    """
    return np.asarray(np.log((1 + texts) / (1 + frequency)) + 1, dtype=np.float64)


def weighted(counts: Any, columns: NDArray[np.int32], weights: NDArray[Any]) -> tuple[Any, Any]:
    """Return sparse vectors (n, t) of length 1, or 0 without any known term, and their lengths.

    TF-IDF with term frequencies damped as 1 + log tf.

    Parameters
    ----------
    counts
        Of hashed terms, sparse (n, `HASHED`).
    columns, weights
        Of the terms that count: `columns_of` them, and what each weighs, (t,).
    """
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - the canary extra

    known = columns[counts.indices] >= 0
    column = columns[counts.indices[known]]
    starts = np.concatenate([[0], np.cumsum(known)])[counts.indptr]
    data = (1 + np.log(counts.data[known])) * weights[column]
    vectors = csr_matrix((data, column, starts), shape=(counts.shape[0], len(weights)))
    lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
    vectors.data /= np.repeat(lengths, np.diff(vectors.indptr))
    return vectors, lengths


def require_sklearn(module: str) -> Any:
    """Return a module of scikit-learn.

    Raises
    ------
    ImportError
        Naming the extra that has it.
    """
    import importlib  # noqa: PLC0415 - beside what it is for

    with needing("clustering needs scikit-learn", extra="canary"):
        return importlib.import_module(module)
