"""How each server is asked for the same rows, and how its answer becomes probabilities again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import routes
from benchmarks.clients import Request

Rows = NDArray[np.float32]
JSON_TYPE = {"Content-Type": "application/json"}
RAW_TYPE = {"Content-Type": "application/octet-stream"}

MODEL = "linear"


class Way(NamedTuple):
    """One way into one server."""

    request: Callable[[Rows], Request]
    """From rows (n, features)."""
    read: Callable[[bytes, int], NDArray[Any]]
    """From the body of an answer and the number of classes to the probabilities (n, classes)."""


def _in_json(path: str) -> Callable[[Rows], Request]:
    def request(rows: Rows) -> Request:
        body = json.dumps({"inputs": rows.tolist()}).encode()
        return Request(path, body, JSON_TYPE)

    return request


def _v2_json(rows: Rows) -> Request:
    tensor = {
        "name": "inputs",
        "shape": list(rows.shape),
        "datatype": "FP32",
        "data": rows.ravel().tolist(),
        "parameters": {"content_type": "np"},
    }
    return Request(
        f"/v2/models/{MODEL}/infer", json.dumps({"inputs": [tensor]}).encode(), JSON_TYPE
    )


def _raw(rows: Rows) -> Request:
    return Request("/predict_raw", rows.tobytes(), RAW_TYPE)


def _named(answer: bytes, _: int) -> NDArray[Any]:
    return np.array(json.loads(answer)["probabilities"])


def _array(answer: bytes, _: int) -> NDArray[Any]:
    return np.array(json.loads(answer))


def _v2_array(answer: bytes, _: int) -> NDArray[Any]:
    (output,) = json.loads(answer)["outputs"]
    return np.array(output["data"]).reshape(output["shape"])


def _floats(answer: bytes, classes: int) -> NDArray[Any]:
    return np.frombuffer(answer, np.float32).reshape(-1, classes)


def _v2_floats(answer: bytes, _: int) -> NDArray[Any]:
    """Read the first tensor that follows a JSON object."""
    text = answer.decode("latin-1")
    described, end = json.JSONDecoder().raw_decode(text)
    output = described["outputs"][0]
    count = int(np.prod(output["shape"]))
    return np.frombuffer(answer, np.float32, count, offset=end).reshape(output["shape"])


BENTOML = {"JSON": Way(_in_json("/predict"), _array), "binary": Way(_raw, _floats)}
# Its REST server has no binary tensors; LitServe takes JSON and forms.
MLSERVER = {"JSON": Way(_v2_json, _v2_array)}
LITSERVE = {"JSON": Way(_in_json("/predict"), _named)}
STARLETTE = {"JSON": Way(_in_json("/predict"), _named), "binary": Way(_raw, _floats)}
DYNASERVE = {
    "JSON": Way(_in_json("/predict"), _named),
    "binary": Way(lambda rows: routes.infer(rows, MODEL), _v2_floats),
}
