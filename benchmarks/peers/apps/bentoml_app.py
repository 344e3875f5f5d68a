"""Plain BentoML: arrays in and out as JSON, and raw bytes in and out."""

from __future__ import annotations

from typing import Annotated

import bentoml
import numpy as np
from bentoml.validators import ContentType, DType

from benchmarks.peers.model import FEATURES, probabilities, served_weights

Floats = Annotated[np.ndarray, DType("float32")]
Raw = Annotated[bytes, ContentType("application/octet-stream")]


@bentoml.service(workers=1, logging={"access": {"enabled": False}})
class Linear:
    """The linear model."""

    def __init__(self) -> None:
        self.weights = served_weights()

    @bentoml.api  # type: ignore[untyped-decorator] # BentoML's SDK is untyped
    def predict(self, inputs: Floats) -> Floats:
        """Return probabilities for rows."""
        return probabilities(inputs, self.weights)

    @bentoml.api  # type: ignore[untyped-decorator]
    def predict_raw(self, body: Raw, /) -> Raw:
        """Return the bytes of float32 probabilities for the bytes of float32 rows."""
        rows = np.frombuffer(body, np.float32).reshape(-1, FEATURES)
        return probabilities(rows, self.weights).tobytes()
