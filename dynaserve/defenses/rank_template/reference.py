"""The release of a rank template as plainly as its definition: the oracle of the compiled one.

For one row z, j_0..j_R are the top R + 1 classes by (z descending, index ascending)::

    p[j_0] = P[j_0];  p[j_r] = (1 - P[j_0]) w_r for r = 1..R;  every other (1 - P[j_0]) w_tail

then masked classes (-inf) become 0 and the rest is divided by its sum. It may not be optimized.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses.rows import require_logits, unwrap


def rank_template_reference(
    logits: NDArray[Any],
    confidence: NDArray[Any],
    rank_weights: NDArray[Any],
    tail_weight: float,
) -> NDArray[np.float64]:
    """Return template probabilities of the shape of ``logits``.

    Parameters
    ----------
    logits
        (..., k), any float dtype.
    confidence
        (k,): P, in (0, 1), by top-1 class.
    rank_weights
        (R,): w_1..w_R, not negative; those beyond k - 1 have no class to go to.
    tail_weight
        w_tail, not negative: the weight of each class below rank R.

    Raises
    ------
    ValueError
        For parameters of another shape, k < 2, or naming the first row with NaN, with +inf or
        of -inf alone.
    """
    z = unwrap(logits).values.astype(np.float64)
    require_logits(z)
    classes = z.shape[-1]
    if confidence.shape != (classes,):
        raise ValueError(f"confidence: needs shape ({classes},), got {confidence.shape}")
    weights = np.asarray(rank_weights, np.float64)[: classes - 1]
    flat = z.reshape(-1, classes)
    rows = np.arange(len(flat))[:, None]
    order = np.argsort(-flat, axis=1, kind="stable")
    top = confidence[order[:, :1]].astype(np.float64)
    released = (1 - top) * np.full(flat.shape, tail_weight)
    released[rows, order[:, 1 : len(weights) + 1]] = (1 - top) * weights
    released[rows, order[:, :1]] = top
    released[np.isneginf(flat)] = 0
    return np.asarray(released / released.sum(axis=1, keepdims=True)).reshape(z.shape)
