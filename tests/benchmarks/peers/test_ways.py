"""Each server is asked for the same rows in its own form, and read in its own form."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.peers import ways

ROWS = np.array([[0.0, 1.0, 16.0], [3.0, 4.0, 5.0]], np.float32)
ANSWER = np.array([[0.25, 0.75], [0.5, 0.5]], np.float32)


@pytest.mark.parametrize("peer", [ways.BENTOML, ways.LITSERVE, ways.STARLETTE, ways.DYNASERVE])
def test_json_has_the_rows_by_name(peer: dict[str, ways.Way]) -> None:
    request = peer["JSON"].request(ROWS)
    assert request.path == "/predict"
    assert json.loads(request.body) == {"inputs": ROWS.tolist()}


def test_mlserver_gets_a_tensor_of_its_protocol() -> None:
    request = ways.MLSERVER["JSON"].request(ROWS)
    (tensor,) = json.loads(request.body)["inputs"]
    assert request.path == "/v2/models/linear/infer"
    assert (tensor["datatype"], tensor["shape"]) == ("FP32", [2, 3])
    np.testing.assert_array_equal(np.reshape(tensor["data"], tensor["shape"]), ROWS)


@pytest.mark.parametrize("peer", [ways.BENTOML, ways.STARLETTE])
def test_raw_bytes_are_the_rows(peer: dict[str, ways.Way]) -> None:
    body = peer["binary"].request(ROWS).body
    np.testing.assert_array_equal(np.frombuffer(body, "<f4").reshape(2, 3), ROWS)


def test_dynaserve_gets_a_raw_tensor_for_the_model_by_its_name() -> None:
    assert ways.DYNASERVE["binary"].request(ROWS).path == "/v2/models/linear/infer"


JSON_ANSWERS = [
    (ways.BENTOML, ANSWER.tolist()),
    (ways.LITSERVE, {"probabilities": ANSWER.tolist()}),
    (ways.STARLETTE, {"probabilities": ANSWER.tolist()}),
    (ways.DYNASERVE, {"labels": [1, 0], "probabilities": ANSWER.tolist()}),
    (ways.MLSERVER, {"outputs": [{"shape": [2, 2], "data": ANSWER.ravel().tolist()}]}),
]


@pytest.mark.parametrize(("peer", "answer"), JSON_ANSWERS)
def test_answers_in_json_become_probabilities(peer: dict[str, ways.Way], answer: object) -> None:
    found = peer["JSON"].read(json.dumps(answer).encode(), 2)
    np.testing.assert_array_equal(found, ANSWER)


@pytest.mark.parametrize("peer", [ways.BENTOML, ways.STARLETTE])
def test_raw_answers_become_probabilities(peer: dict[str, ways.Way]) -> None:
    np.testing.assert_array_equal(peer["binary"].read(ANSWER.tobytes(), 2), ANSWER)


def test_the_first_tensor_after_the_json_is_read() -> None:
    outputs = [{"name": "probabilities", "shape": [2, 2]}, {"name": "labels", "shape": [2]}]
    labels = np.array([1, 0], "<i8").tobytes()
    answer = json.dumps({"outputs": outputs}).encode() + ANSWER.tobytes() + labels
    np.testing.assert_array_equal(ways.DYNASERVE["binary"].read(answer, 2), ANSWER)
