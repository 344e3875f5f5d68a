"""The model that everyone serves: linear, of fixed random weights, with a softmax.

It runs in every environment, so it uses numpy alone.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

FEATURES = 64
CLASSES = "PEER_CLASSES"
"""The environment variable that tells a server the number of classes."""
# Rows of whole numbers from 0 to 16 have a norm of about 75, so that logits spread by about 5.
SPREAD = 5 / 75

Array = NDArray[np.float32]


def weights(classes: int) -> Array:
    """Return the weights (64, classes), the same in every process."""
    return np.random.default_rng(0).normal(0, SPREAD, (FEATURES, classes)).astype(np.float32)


def served_weights() -> Array:
    """Return the weights for this server process."""
    return weights(int(os.environ[CLASSES]))


def probabilities(rows: Array, weights: Array) -> Array:
    """Return softmax(rows @ weights), (n, classes)."""
    logits: Array = rows @ weights
    logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits
