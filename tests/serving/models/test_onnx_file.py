from __future__ import annotations

import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from dynaserve.serving.models import ModelError, load_model

RNG = np.random.default_rng(0)
WEIGHT = RNG.normal(size=(4, 3)).astype(np.float32)


def save(path, nodes, outputs, *, inputs=None, initializers=None, domain=False):
    inputs = inputs or [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])]
    initializers = initializers or [numpy_helper.from_array(WEIGHT, "w")]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 17)]
    if domain:
        opsets.append(helper.make_opsetid("ai.onnx.ml", 3))
    path.write_bytes(
        helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    )
    return str(path)


def linear(output="logits"):
    return helper.make_node("MatMul", ["x", "w"], [output])


def scores(name="logits"):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3])


def test_logits_pass_as_they_are(tmp_path):
    model = load_model(save(tmp_path / "m.onnx", [linear()], [scores()]))
    x = RNG.normal(size=(5, 4))
    assert (model.input_shape, model.dtype, model.classes) == ((4,), np.float32, [0, 1, 2])
    np.testing.assert_allclose(model.logits(x), x.astype(np.float32) @ WEIGHT, rtol=1e-5)


@pytest.mark.parametrize("name", ["probabilities", "output"])
def test_rows_that_sum_to_one_are_probabilities(tmp_path, name):
    nodes = [linear("z"), helper.make_node("Softmax", ["z"], [name], axis=1)]
    model = load_model(save(tmp_path / "m.onnx", nodes, [scores(name)]))
    x = RNG.normal(size=(5, 4)).astype(np.float32)
    p = np.exp(model.logits(x))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)
    assert (model.logits(x) <= 0).all()


def test_the_map_output_of_scikit_learn_converters_brings_its_labels(tmp_path):
    nodes = [
        linear("z"),
        helper.make_node("Softmax", ["z"], ["p"], axis=1),
        helper.make_node("ArgMax", ["p"], ["label"], axis=1, keepdims=0),
        helper.make_node(
            "ZipMap",
            ["p"],
            ["output_probability"],
            domain="ai.onnx.ml",
            classlabels_strings=["ham", "eggs", "spam"],
        ),
    ]
    outputs = [
        helper.make_tensor_value_info("label", TensorProto.INT64, ["n"]),
        helper.make_value_info(
            "output_probability",
            helper.make_sequence_type_proto(
                helper.make_map_type_proto(
                    TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, [])
                )
            ),
        ),
    ]
    model = load_model(save(tmp_path / "m.onnx", nodes, outputs, domain=True))
    assert sorted(model.classes) == ["eggs", "ham", "spam"]
    x = RNG.normal(size=(6, 4)).astype(np.float32)
    order = [["ham", "eggs", "spam"].index(label) for label in model.classes]
    z = (x @ WEIGHT)[:, order]
    expected = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.logits(x), expected, rtol=1e-4, atol=1e-5)


def test_an_output_named_probabilities_wins_over_logits(tmp_path):
    nodes = [linear(), helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1)]
    outputs = [scores(), scores("probabilities")]
    assert load_model(save(tmp_path / "m.onnx", nodes, outputs)).gives_probabilities


def test_an_image_model_leaves_open_sizes_open(tmp_path):
    nodes = [
        helper.make_node("GlobalAveragePool", ["x"], ["a"]),
        helper.make_node("Flatten", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "w"], ["logits"]),
    ]
    image = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4, "h", "w_"])]
    model = load_model(save(tmp_path / "m.onnx", nodes, [scores()], inputs=image))
    assert model.input_shape == (4, None, None)


@pytest.mark.parametrize(
    ("nodes", "outputs", "message"),
    [
        (
            [linear("z"), helper.make_node("Softmax", ["z"], ["logits"], axis=1)],
            [scores()],
            "named like logits but its rows are probabilities",
        ),
        (
            [linear("z"), helper.make_node("Sigmoid", ["z"], ["y"])],
            [scores("y")],
            "independent scores",
        ),
        ([linear("probs")], [scores("probs")], "independent scores"),
        (
            [linear("a"), helper.make_node("Identity", ["a"], ["b"])],
            [scores("a"), scores("b")],
            "several outputs may be the scores: 'a'.*'b'",
        ),
        (
            [linear("z"), helper.make_node("ArgMax", ["z"], ["label"], axis=1, keepdims=0)],
            [helper.make_tensor_value_info("label", TensorProto.INT64, ["n"])],
            "no output holds scores",
        ),
        (
            [linear("z"), helper.make_node("ReduceMax", ["z"], ["top"], axes=[1])],
            [helper.make_tensor_value_info("top", TensorProto.FLOAT, ["n", 1])],
            r"\(3, k\), for k >= 2",
        ),
        (
            [linear("z"), helper.make_node("ReduceMean", ["z"], ["logits"], axes=[0])],
            [scores()],
            "answers 3 rows with 1: its batch size is fixed",
        ),
        (
            [linear("z"), helper.make_node("Log", ["z"], ["logits"])],
            [scores()],
            "answers made-up rows with NaN",
        ),
    ],
)
def test_outputs_that_are_no_scores_are_refused(tmp_path, nodes, outputs, message):
    with pytest.raises(ModelError, match=message):
        load_model(save(tmp_path / "m.onnx", nodes, outputs))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([("x", TensorProto.FLOAT, [7, 4])], "fixed batch size of 7"),
        ([("x", TensorProto.FLOAT, [4])], "without a batch and a row part"),
        ([("x", TensorProto.STRING, ["n", 4])], r"is tensor\(string\)"),
        ([("x", TensorProto.FLOAT, ["n", 4]), ("y", TensorProto.FLOAT, ["n"])], "has 2 inputs"),
    ],
)
def test_inputs_that_are_no_rows_are_refused(tmp_path, inputs, message):
    infos = [helper.make_tensor_value_info(*each) for each in inputs]
    node = linear()
    output = scores()
    if inputs[0][1] == TensorProto.STRING:
        node = helper.make_node("Identity", ["x"], ["logits"])
        output = helper.make_tensor_value_info("logits", TensorProto.STRING, ["n", 4])
    with pytest.raises(ModelError, match=message):
        load_model(save(tmp_path / "m.onnx", [node], [output], inputs=infos))


def test_weights_in_another_file_are_refused_even_from_the_working_directory(tmp_path, monkeypatch):
    weight = numpy_helper.from_array(WEIGHT, "w")
    onnx.external_data_helper.set_external_data(weight, "w.bin")
    (tmp_path / "w.bin").write_bytes(weight.raw_data)
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    path = save(tmp_path / "m.onnx", [linear()], [scores()], initializers=[weight])
    monkeypatch.chdir(tmp_path)
    assert os.path.exists("w.bin")
    with pytest.raises(ModelError, match="keeps its weights in another file"):
        load_model(path)


def test_a_broken_file_is_called_unreadable(tmp_path):
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"not onnx")
    with pytest.raises(ModelError, match="could not be read as an ONNX file"):
        load_model(str(path))
