"""The two ways into the same server, for ``service.py``: what is sent, and what came back.

Raw tensors are written by Triton's own client, as FP32: what most callers have at hand.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tritonclient.http as triton
from numpy.typing import NDArray

from benchmarks.clients import Request


class Route(NamedTuple):
    """One way in."""

    request: Callable[[NDArray[Any], str], Request]
    """From rows (n, features) and the model's name to what is sent."""
    shape_of: Callable[[bytes], tuple[int, ...]]
    """From the body of an answer to the shape of the probabilities in it."""


def predict(rows: NDArray[Any], _: str) -> Request:
    """Return rows as JSON to ``POST /predict``, which needs no name of the model."""
    body = json.dumps({"inputs": rows.tolist()}).encode()
    return Request("/predict", body, {"Content-Type": "application/json"})


def infer(rows: NDArray[Any], model: str) -> Request:
    """Return rows as a raw tensor for a raw answer, by the Open Inference Protocol."""
    values = rows.astype(np.float32)
    tensor = triton.InferInput("inputs", list(values.shape), "FP32").set_data_from_numpy(values)
    body, json_length = triton.InferenceServerClient.generate_request_body([tensor])
    headers = {
        "Content-Type": "application/octet-stream",
        "Inference-Header-Content-Length": str(json_length),
    }
    return Request(f"/v2/models/{model}/infer", body, headers)


def predicted_shape(answer: bytes) -> tuple[int, ...]:
    """Return the shape of the probabilities in JSON."""
    return np.shape(json.loads(answer)["probabilities"])


def inferred_shape(answer: bytes) -> tuple[int, ...]:
    """Return the shape of the probabilities in raw bytes, which follow a JSON object."""
    described, _ = json.JSONDecoder().raw_decode(answer.decode("latin-1"))
    return tuple(described["outputs"][0]["shape"])


ROUTES = {"JSON": Route(predict, predicted_shape), "binary": Route(infer, inferred_shape)}
