"""Statistics of one answer that attacks compare, in float64, finite for every answer.

All take log-probabilities (..., k), not probabilities: a released 1 - 1e-9 has lost in float32
what its other classes still say. It knows nothing of shadows or membership.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_LOG = -1e4
"""A masked class counts as this log-probability: beyond any real one, and finite."""

_LEAST_PROBABILITY = float(np.finfo(np.float32).smallest_normal)


def log_softmax(logits: NDArray[Any]) -> Floats:
    """Return log-probabilities (..., k) of finite or -inf logits, at least -10,000."""
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return np.maximum(shifted, LEAST_LOG, out=shifted)


def log_released(probabilities: NDArray[Any]) -> Floats:
    """Return the logarithm of released probabilities (..., k); 0 counts as 2^-126."""
    return np.asarray(np.log(np.maximum(probabilities, _LEAST_PROBABILITY, dtype=np.float64)))


def own(values: Floats, labels: NDArray[np.int64]) -> Floats:
    """Return the entry (..., n) of each row's label of values (..., n, k)."""
    index = np.broadcast_to(labels[:, None], (*values.shape[:-1], 1))
    return np.asarray(np.take_along_axis(values, index, axis=-1)[..., 0])


def logit_confidence(log_p: Floats, labels: NDArray[np.int64]) -> Floats:
    """Return log(p_y / (1 - p_y)), (..., n), of log-probabilities (..., n, k).

    As z_y - logsumexp over the other classes (Carlini et al., "Membership Inference Attacks
    From First Principles", 2022, section IV-C), which cancels nothing at p_y near 1.
    """
    others = log_p.copy()
    index = np.broadcast_to(labels[:, None], (*log_p.shape[:-1], 1))
    np.put_along_axis(others, index, -np.inf, axis=-1)
    top = others.max(axis=-1, keepdims=True)
    rest = np.log(np.exp(others - top).sum(axis=-1)) + top[..., 0]
    return np.asarray(own(log_p, labels) - rest)


def log_own_probability(logit: Floats) -> Floats:
    """Return log p_y of log(p_y / (1 - p_y))."""
    return -np.logaddexp(0.0, -logit)


def log_entropy(log_p: Floats) -> Floats:
    """Return log H, (...), of normalized log-probabilities; the logarithm tells tiny ones apart."""
    return np.asarray(_log_positive(-(np.exp(log_p) * log_p).sum(axis=-1)))


def log_modified_entropy(log_p: Floats, labels: NDArray[np.int64]) -> Floats:
    """Return the logarithm of the modified entropy, (..., n), of log-probabilities (..., n, k).

    Mentr = -(1 - p_y) log p_y - sum over i != y of p_i log(1 - p_i) (Song & Mittal, "Systematic
    Evaluation of Privacy Risks of Machine Learning Models", 2021, equation 4).
    """
    p = np.exp(log_p)
    terms = -p * np.log1p(-np.minimum(p, 1 - 1e-16))
    logit = logit_confidence(log_p, labels)
    own_term = np.exp(-np.logaddexp(0.0, logit)) * np.logaddexp(0.0, -logit)
    return np.asarray(_log_positive(terms.sum(axis=-1) - own(terms, labels) + own_term))


def rank_of_label(log_p: Floats, labels: NDArray[np.int64]) -> Floats:
    """Return how many classes lie strictly above the label, (..., n)."""
    return np.asarray((log_p > own(log_p, labels)[..., None]).sum(axis=-1), dtype=np.float64)


def _log_positive(values: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(values, 1e-300)))
