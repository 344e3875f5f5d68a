"""Both routes ask for the same rows, and tell the shape of what comes back."""

from __future__ import annotations

import json

import numpy as np

from benchmarks.routes import ROUTES

ROWS = np.array([[0.0, 1.0, 16.0], [3.0, 4.0, 5.0]])
SHAPE = (2, 10)


def test_json_goes_to_predict() -> None:
    request = ROUTES["JSON"].request(ROWS, "digits")
    assert request.path == "/predict"
    assert request.headers == {"Content-Type": "application/json"}
    assert json.loads(request.body) == {"inputs": ROWS.tolist()}
    answer = json.dumps({"probabilities": np.zeros(SHAPE).tolist()}).encode()
    assert ROUTES["JSON"].shape_of(answer) == SHAPE


def test_raw_tensors_go_to_the_model_by_name() -> None:
    request = ROUTES["binary"].request(ROWS, "digits")
    assert request.path == "/v2/models/digits/infer"
    length = int(request.headers["Inference-Header-Content-Length"])
    np.testing.assert_array_equal(np.frombuffer(request.body[length:], "<f4").reshape(2, 3), ROWS)
    assert json.loads(request.body[:length])["parameters"] == {"binary_data_output": True}
    described = {"outputs": [{"name": "probabilities", "shape": SHAPE}]}
    answer = json.dumps(described).encode() + bytes(range(80))
    assert ROUTES["binary"].shape_of(answer) == SHAPE
