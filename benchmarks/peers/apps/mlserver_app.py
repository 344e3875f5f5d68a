"""MLServer: a custom runtime, with its numpy codec."""

from __future__ import annotations

import numpy as np
from mlserver import MLModel  # type: ignore[import-not-found]
from mlserver.codecs import decode_args  # type: ignore[import-not-found]

from benchmarks.peers.model import probabilities, served_weights


class Linear(MLModel):  # type: ignore[misc] # it is not in the environment that checks types
    """The linear model."""

    async def load(self) -> bool:
        """Get ready."""
        self.weights = served_weights()
        return True

    @decode_args  # type: ignore[untyped-decorator]
    async def predict(self, inputs: np.ndarray) -> np.ndarray:
        """Return probabilities for rows."""
        return probabilities(inputs, self.weights)
