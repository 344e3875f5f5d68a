from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pytest
import tritonclient.http as triton
from hypothesis import given
from hypothesis import strategies as st
from tritonclient.utils import triton_to_np_dtype

from dynaserve.serving.inference.request import Asked, Output, read_request
from dynaserve.serving.refused import RefusedError, TooLargeError
from dynaserve.serving.requests import Limits

MODEL: Any = SimpleNamespace(dtype=np.dtype(np.float32), input_shape=(3,), classes=["a", "b"])
LIMITS = Limits.of((3,), max_rows=8)
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)
BOTH = (Output("probabilities", binary=False), Output("labels", binary=False))


def document(**fields: Any) -> dict[str, Any]:
    tensor = {"name": "inputs", "shape": [2, 3], "datatype": "FP32", "data": ROWS.ravel().tolist()}
    return {"inputs": [tensor]} | fields


def tensor(**fields: Any) -> dict[str, Any]:
    """Return a request whose one tensor is otherwise; a field of None is left out."""
    changed = document()["inputs"][0] | fields
    return {"inputs": [{name: value for name, value in changed.items() if value is not None}]}


def raw(size: Any = 24, **fields: Any) -> dict[str, Any]:
    return tensor(data=None, parameters={"binary_data_size": size}, **fields)


def read(document: Any, tail: bytes = b"", length: str | int | None = None) -> Asked:
    json = document if isinstance(document, bytes) else orjson.dumps(document)
    length = len(json) if tail and length is None else length
    return read_request(json + tail, None if length is None else str(length), MODEL, LIMITS)


def test_rows_in_json_are_read() -> None:
    asked = read(document())
    np.testing.assert_array_equal(asked.rows, ROWS)
    assert asked.rows.dtype == np.float32
    assert asked.outputs == BOTH
    assert asked.id is None


def test_rows_behind_the_json_are_read_and_not_copied() -> None:
    json = orjson.dumps(raw())
    body = bytearray(json + ROWS.tobytes())
    asked = read_request(body, str(len(json)), MODEL, LIMITS)
    np.testing.assert_array_equal(asked.rows, ROWS)
    body[-1] = 0xBF
    assert asked.rows[-1, -1] != ROWS[-1, -1]


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("datatype", ["FP16", "FP32", "FP64", "INT8", "UINT16", "INT64"])
def test_what_tritons_client_writes_is_read(datatype: str, binary: bool) -> None:
    given = triton.InferInput("inputs", [2, 3], datatype)
    given.set_data_from_numpy(ROWS.astype(triton_to_np_dtype(datatype)), binary_data=binary)
    outputs = [triton.InferRequestedOutput("labels", binary_data=binary)]
    body, length = triton.InferenceServerClient.generate_request_body(
        [given], outputs=outputs, request_id="4711", priority=3, timeout=5
    )
    asked = read_request(body, None if length is None else str(length), MODEL, LIMITS)
    np.testing.assert_array_equal(asked.rows, ROWS)
    assert asked.outputs == (Output("labels", binary),)
    assert asked.id == "4711"


@pytest.mark.parametrize(
    ("fields", "outputs"),
    [
        ({}, [("probabilities", False), ("labels", False)]),
        ({"outputs": []}, [("probabilities", False), ("labels", False)]),
        ({"outputs": None, "parameters": None, "id": None}, [("probabilities", False),
                                                             ("labels", False)]),
        ({"parameters": {"binary_data_output": True}}, [("probabilities", True), ("labels", True)]),
        ({"outputs": [{"name": "labels"}]}, [("labels", False)]),
        ({"outputs": [{"name": "labels"}, {"name": "probabilities"}]},
         [("labels", False), ("probabilities", False)]),
        ({"outputs": [{"name": "labels"}], "parameters": {"binary_data_output": True}},
         [("labels", True)]),
        ({"outputs": [{"name": "labels", "parameters": {"binary_data": False}}],
          "parameters": {"binary_data_output": True}}, [("labels", False)]),
        ({"outputs": [{"name": "labels", "parameters": {"binary_data": True}}],
          "parameters": {"binary_data_output": False}}, [("labels", True)]),
        ({"outputs": [{"name": "labels", "parameters": {"classification": 0, "other": {}}}]},
         [("labels", False)]),
    ],
)  # fmt: skip
def test_outputs_are_chosen_by_name_and_form(
    fields: dict[str, Any], outputs: list[tuple[str, bool]]
) -> None:
    assert read(document(**fields)).outputs == tuple(Output(*output) for output in outputs)


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"", "malformed JSON at line 1"),
        (b'{"inputs": [', "malformed JSON"),
        (orjson.dumps(document())[:-1], "malformed JSON"),
        (orjson.dumps(document()) + ROWS.tobytes(), "raw tensors after the JSON need the header"),
        (b'{"inputs": [NaN]}', "malformed JSON"),
        (b'"\xff\xfe"', "malformed JSON"),
        (b'{"id": "\\ud800"}', "malformed JSON"),
        ([4711], "send one object"),
        ({}, '"inputs" must be a list of one tensor, named "inputs"'),
        ({"inputs": []}, '"inputs" must be a list of one tensor'),
        ({"inputs": {}}, '"inputs" must be a list of one tensor'),
        ({"inputs": ["4711"]}, '"inputs" must be a list of one tensor'),
        ({"inputs": document()["inputs"] * 2}, '"inputs" must be a list of one tensor'),
        (tensor(name="4711"), 'the one input tensor is named "inputs"'),
        (tensor(name=4711), 'the input needs a "name", a string'),
        (tensor(datatype="4711"), "must be one of FP16, FP32, FP64, INT8, .*UINT64$"),
        (tensor(datatype="BYTES"), "must be one of FP16"),
        (tensor(datatype="BOOL", data=[True] * 6), "must be one of FP16"),
        (tensor(datatype="BF16"), "must be one of FP16"),
        (tensor(datatype="fp32"), "must be one of FP16"),
        (tensor(datatype=["FP32"]), 'the input needs a "datatype", a string'),
        (tensor(shape=[2, -3]), "must be a list of whole numbers"),
        (tensor(shape=[2**62, 4]), "rows; send at most 8"),
        (tensor(shape=[2, 2**62]), f"row 0 holds {2**62} values instead of 3"),
        (tensor(data=None), "holds no data; send it in"),
        (tensor(parameters={"shared_memory_region": "4711"}), "of an input is not supported"),
        (tensor(parameters="4711"), '"parameters" of "inputs" must be an object'),
        (document(parameters=[4711]), '"parameters" of the request must be an object'),
        (document(parameters={"binary_data_output": 4711}), "must be true or false"),
        (document(outputs=4711), '"outputs" must be a list of objects'),
        (document(outputs=["4711"]), '"outputs" must be a list of objects'),
        (document(outputs=[{}]), 'an output needs a "name", a string'),
        (document(outputs=[{"name": "4711"}]), "must be one of probabilities, labels"),
        (document(outputs=[{"name": "logits"}]), "must be one of probabilities, labels"),
        (document(outputs=[{"name": "labels"}] * 2), "an output is named twice"),
        (document(outputs=[{"name": "labels", "parameters": {"binary_data": "4711"}}]),
         "must be true or false"),
        (document(outputs=[{"name": "labels", "parameters": {"classification": 4711}}]),
         '"classification" of an output is not supported'),
        (document(outputs=[{"name": "labels", "parameters": {"shared_memory_region": "4711"}}]),
         '"shared_memory_region" of an output is not supported'),
        (document(id=4711), '"id" must be a string'),
        (document(id="4711" * 1000), '"id" must be a string of at most 1024'),
        (document(parameters={"x": [{} for _ in range(100)]}), "holds more objects than"),
    ],
)  # fmt: skip
def test_a_bad_request_is_told_what_would_be_right_and_quoted_nowhere(
    sent: Any, message: str
) -> None:
    with pytest.raises(RefusedError, match=message) as caught:
        read(sent)
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize(
    ("sent", "tail", "length", "message"),
    [
        (raw(), ROWS.tobytes()[:-1], None, "must be the number of bytes after the JSON, .* is 23"),
        (raw(), ROWS.tobytes() + b"x", None, "after the JSON, which is 25"),
        (raw(23), ROWS.tobytes()[:-1], None, "has 23 bytes of binary data; .* need 24"),
        (raw(-24), ROWS.tobytes(), None, "must be the number of bytes after the JSON"),
        (raw(24.0), ROWS.tobytes(), None, "must be the number of bytes after the JSON"),
        (raw(True), b"x", None, "must be the number of bytes after the JSON"),
        (raw("24"), ROWS.tobytes(), None, "must be the number of bytes after the JSON"),
        (raw(2**64 - 1), ROWS.tobytes(), None, "must be the number of bytes after the JSON"),
        (raw(0), b"", None, "has 0 bytes of binary data"),
        (raw(datatype="FP64"), ROWS.tobytes(), None, "has 24 bytes of binary data; .* need 48"),
        (raw(shape=[2**61, 3]), ROWS.tobytes(), None, "rows; send at most 8"),
        (raw(), b"", None, "after the JSON, which is 0"),
        (tensor(), ROWS.tobytes(), None, '24 bytes follow the JSON; give "inputs" the parameter'),
        (tensor(parameters={"binary_data_size": 24}), ROWS.tobytes(), None, "send one of them"),
        (raw(), ROWS.tobytes(), 10**6, "past the end of the body"),
        (raw(), ROWS.tobytes(), 0, "malformed JSON"),
        (raw(), ROWS.tobytes(), 5, "malformed JSON"),
        (raw(), ROWS.tobytes(), len(orjson.dumps(raw())) + 1, "malformed JSON"),
        (raw(), ROWS.tobytes(), "", "must be the number of bytes of the JSON"),
        (raw(), ROWS.tobytes(), "-1", "must be the number of bytes of the JSON"),
        (raw(), ROWS.tobytes(), "0x20", "must be the number of bytes of the JSON"),
        (raw(), ROWS.tobytes(), "1e2", "must be the number of bytes of the JSON"),
        (raw(), ROWS.tobytes(), "\u0661\u0662", "must be the number of bytes of the JSON"),
        (raw(), ROWS.tobytes(), "9" * 5000, "must be the number of bytes of the JSON"),
    ],
)
def test_lengths_that_do_not_match_are_refused(
    sent: Any, tail: bytes, length: Any, message: str
) -> None:
    with pytest.raises(RefusedError, match=message):
        read(sent, tail, length)


def test_what_is_not_finite_in_raw_bytes_is_refused_by_place() -> None:
    rows = ROWS.copy()
    rows[1, 2] = np.nan
    with pytest.raises(RefusedError, match=r"^row 1, value 2 is not between -3\.4028235e"):
        read(raw(), rows.tobytes())


def test_more_lists_than_rows_have_are_refused_unparsed() -> None:
    nested = tensor(shape=[8, 3], data=np.zeros((8, 3)).tolist())
    assert read(nested).rows.shape == (8, 3)
    with pytest.raises(TooLargeError, match="more lists than 8 rows do"):
        read(tensor(data=[[]] * 30))


def test_json_that_nests_for_ever_is_malformed() -> None:
    deep = b'{"x": ' + b"[" * 2000 + b"]" * 2000 + b"}"
    open_ended = Limits(max_rows=8, max_bytes=10**6, max_lists=None)
    with pytest.raises(RefusedError, match="malformed JSON"):
        read_request(deep, None, MODEL, open_ended)


def test_fields_of_other_extensions_are_left_alone() -> None:
    sent = document(model_name="4711", parameters={"priority": 1, "sequence_id": 3, "x": [1]})
    sent["inputs"][0]["parameters"] = {"content_type": "np"}
    np.testing.assert_array_equal(read(sent).rows, ROWS)


paths = st.sampled_from(["inputs", "outputs", "parameters", "id", "name", "shape", "datatype",
                         "data", "binary_data_size"])  # fmt: skip
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(paths, inner, max_size=3),
    max_leaves=8,
)


@given(paths, anything, st.booleans())
def test_whatever_a_field_holds_the_answer_is_a_refusal_or_the_rows(
    name: str, value: Any, binary: bool
) -> None:
    sent = copy.deepcopy(raw() if binary else document())
    holder = sent if name in ("inputs", "outputs", "parameters", "id") else sent["inputs"][0]
    holder[name] = value
    try:
        asked = read(sent, ROWS.tobytes() if binary else b"")
    except RefusedError:
        return
    assert asked.rows.dtype == np.float32
    assert asked.rows.shape[1:] == (3,)
    assert np.isfinite(asked.rows).all()
    assert asked.outputs


@given(st.binary(max_size=80), st.none() | st.integers(-5, 90).map(str) | st.text(max_size=5))
def test_any_bytes_get_a_refusal(body: bytes, length: str | None) -> None:
    with pytest.raises(RefusedError):
        read_request(body, length, MODEL, LIMITS)
