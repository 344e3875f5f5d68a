"""The two simplest output defenses: release the label alone, or divide the logits by a constant."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.mia.peers.baseline import Baseline, softmax


class TopOne(Baseline):
    """Releases the label alone, as probability 1: what no output defense can get below.

    Ties go to the lowest index.

    Examples
    --------
    >>> import numpy as np
    >>> TopOne()(np.array([[0.2, 3.0, 1.0]])).tolist()
    [[0.0, 1.0, 0.0]]
    """

    def describe(self) -> str:
        """Return one line for people."""
        return "top-1 only: the label, and no score"

    def _release(self, logits: NDArray[np.float32]) -> NDArray[Any]:
        return np.asarray(np.eye(logits.shape[1], dtype=np.float32)[logits.argmax(axis=1)])


class Temperature(Baseline):
    """Releases softmax(z / T), a one-to-one map of the scores that fools fixed thresholds alone.

    Examples
    --------
    >>> import numpy as np
    >>> Temperature(10.0)(np.log(np.array([[1.0, 1024.0]]))).tolist()
    [[0.3333333432674408, 0.6666666865348816]]
    """

    def __init__(self, temperature: float = 10.0) -> None:
        if not 0 < temperature < float("inf"):
            raise ValueError(f"temperature: must be positive and finite, got {temperature}")
        self.temperature = temperature

    def describe(self) -> str:
        """Return one line for people."""
        return f"temperature only: softmax(z / {self.temperature:g})"

    def _release(self, logits: NDArray[np.float32]) -> NDArray[Any]:
        return softmax(logits / np.float32(self.temperature))
