from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest
import tritonclient.http as triton
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps
from numpy.typing import NDArray

from dynaserve.serving.inference.answer import Answer, Labels, write_answer
from dynaserve.serving.inference.request import Asked, Output

P = np.array([[0.25, 0.5, 0.25], [0.0, 0.125, 0.875]], np.float32)
NUMBERS: list[str | int] = [5, -7, 2**40]
WORDS: list[str | int] = ["Ahorn", "Bärlauch", 7]


def write(
    outputs: list[tuple[str, bool]],
    probabilities: NDArray[Any] = P,
    classes: list[str | int] = NUMBERS,
    id: str | None = None,  # noqa: A002
) -> Answer:
    asked = Asked(np.empty(0), tuple(Output(*output) for output in outputs), id)
    return write_answer({"model_name": "m"}, asked, probabilities, Labels(classes))


def seen(answer: Answer) -> triton.InferResult:
    """Return what Triton's client makes of an answer."""
    return triton.InferResult.from_response_body(answer.body, header_length=answer.json_length)


def test_json_is_flat_and_complete() -> None:
    answer = write([("probabilities", False), ("labels", False)], id="42")
    assert answer.json_length is None
    assert orjson.loads(answer.body) == {
        "model_name": "m",
        "id": "42",
        "outputs": [
            {"name": "probabilities", "shape": [2, 3], "datatype": "FP32",
             "data": P.ravel().tolist()},
            {"name": "labels", "shape": [2], "datatype": "INT64", "data": [-7, 2**40]},
        ],
    }  # fmt: skip


def test_raw_tensors_follow_the_json_in_its_order() -> None:
    answer = write([("labels", True), ("probabilities", True)])
    assert answer.json_length is not None
    outputs = orjson.loads(answer.body[: answer.json_length])["outputs"]
    assert [output["parameters"] for output in outputs] == [
        {"binary_data_size": 16},
        {"binary_data_size": 24},
    ]
    assert not any("data" in output for output in outputs)
    labels = np.array([-7, 2**40], "<i8").tobytes()
    assert answer.body[answer.json_length :] == labels + P.astype("<f4").tobytes()


@pytest.mark.parametrize("forms", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("classes", [NUMBERS, WORDS])
def test_tritons_client_reads_every_form(
    forms: tuple[bool, bool], classes: list[str | int]
) -> None:
    result = seen(
        write([("probabilities", forms[0]), ("labels", forms[1])], classes=classes, id="x")
    )
    np.testing.assert_array_equal(result.as_numpy("probabilities"), P)
    assert result.as_numpy("probabilities").dtype == np.float32
    labels = result.as_numpy("labels")
    if classes is NUMBERS:
        assert labels.dtype == np.int64
        assert labels.tolist() == [-7, 2**40]
    else:
        told = [label.decode() if isinstance(label, bytes) else label for label in labels]
        assert told == ["Bärlauch", "7"]
    assert result.get_response()["id"] == "x"


@given(
    nps.arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(2, 6)),
               elements=st.floats(0, 1, width=32)),
    st.booleans(), st.booleans(),
)  # fmt: skip
def test_probabilities_arrive_bit_for_bit(
    probabilities: NDArray[Any], binary: bool, turned: bool
) -> None:
    if turned:  # neither contiguous nor of the order of rows
        probabilities = np.asfortranarray(probabilities)
    classes: list[str | int] = list(range(probabilities.shape[1]))
    result = seen(write([("probabilities", binary), ("labels", binary)], probabilities, classes))
    back = result.as_numpy("probabilities")
    assert back.tobytes() == np.ascontiguousarray(probabilities).tobytes()
    np.testing.assert_array_equal(result.as_numpy("labels"), probabilities.argmax(axis=1))


def test_an_output_that_is_not_wanted_is_not_there() -> None:
    assert seen(write([("labels", True)])).as_numpy("probabilities") is None


def test_an_answer_without_id_has_none() -> None:
    assert set(orjson.loads(write([("labels", False)]).body)) == {"model_name", "outputs"}


@pytest.mark.parametrize(
    ("classes", "datatype"),
    [
        ([0, 1], "INT64"),
        ([-(2**63), 2**63 - 1], "INT64"),
        ([0, 2**63], "BYTES"),
        (["0", "1"], "BYTES"),
        ([True, False], "BYTES"),
    ],
)
def test_labels_are_numbers_only_if_all_of_them_are(
    classes: list[str | int], datatype: str
) -> None:
    assert Labels(classes).datatype == datatype
