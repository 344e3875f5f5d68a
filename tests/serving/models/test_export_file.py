from __future__ import annotations

import contextlib
import io
import json
import pathlib
import zipfile

import numpy as np
import pytest
import torch

from dynaserve.serving.models import ModelError, load_model
from tests.serving.models.networks import Both, Images, Linear, Pair

BATCH = ({0: torch.export.Dim("batch")},)


def export(path, module, *inputs, dynamic_shapes=BATCH):
    program = torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic_shapes)
    torch.export.save(program, path)
    return str(path)


def rewrite(path, change):
    """Pass every record of an archive through ``change(name, content)``; None drops it."""
    with zipfile.ZipFile(path) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in records.items():
            changed = change(name, content)
            if changed is not None:
                archive.writestr(name, changed)
    return str(path)


def edit_program(path, edit):
    """Let ``edit`` change the parsed program in place."""

    def change(name, content):
        if not name.endswith("models/model.json"):
            return content
        program = json.loads(content)
        edit(program)
        return json.dumps(program).encode()

    return rewrite(path, change)


def test_an_exported_network_answers_as_the_module_does(tmp_path):
    module = Images()
    model = load_model(export(tmp_path / "m.pt2", module, torch.ones(3, 64)))
    x = np.random.default_rng(0).normal(size=(5, 64)).astype(np.float32)
    assert (model.input_shape, model.dtype, model.classes) == ((64,), np.float32, list(range(10)))
    expected = module.eval()(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(model.logits(x), expected, rtol=1e-5, atol=1e-6)


def test_a_softmax_at_the_end_is_undone(tmp_path):
    path = export(tmp_path / "m.pt2", Linear(softmax=True), torch.ones(3, 4))
    model = load_model(path)
    assert model.gives_probabilities
    np.testing.assert_allclose(np.exp(model.logits(np.ones((2, 4)))).sum(axis=1), 1, rtol=1e-5)


def test_read_only_rows_and_float64_weights_work(tmp_path):
    module = Linear(dtype=torch.float64)
    model = load_model(export(tmp_path / "m.pt2", module, torch.ones(3, 4, dtype=torch.float64)))
    rows = np.ones((2, 4))
    rows.flags.writeable = False
    assert model.dtype == np.float64
    assert model.logits(rows).dtype == np.float64


@pytest.mark.parametrize(
    ("module", "inputs", "dynamic_shapes", "message"),
    [
        (Linear(), (torch.ones(3, 4),), None, "fixed batch size of 3"),
        (Pair(), (torch.ones(3, 4), torch.ones(3, 4)), BATCH * 2, "takes 2 inputs"),
        (Both(), (torch.ones(3, 4),), BATCH, "returns dict, not one tensor"),
        (
            Linear(dtype=torch.bfloat16),
            (torch.ones(3, 4, dtype=torch.bfloat16),),
            BATCH,
            "takes bfloat16 inputs; use one of float32",
        ),
        (torch.nn.ReLU(), (torch.ones(3),), BATCH, "no batch dimension before the row"),
    ],
)
def test_programs_that_are_no_classifier_are_refused(
    tmp_path, module, inputs, dynamic_shapes, message
):
    path = export(tmp_path / "m.pt2", module, *inputs, dynamic_shapes=dynamic_shapes)
    with pytest.raises(ModelError, match=message):
        load_model(path)


class Touch:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (pathlib.Path.touch, (self.path,))


def test_a_pickle_hidden_in_the_sample_inputs_does_not_run(tmp_path):
    touched = tmp_path / "touched"
    path = export(tmp_path / "m.pt2", Linear(), torch.ones(3, 4))
    buffer = io.BytesIO()
    torch.save((Touch(touched),), buffer)

    def change(name, content):
        return buffer.getvalue() if "sample_inputs" in name else content

    rewrite(path, change)
    with pytest.raises(ModelError, match=r"a pickle that builds more than tensors.*--trust-pickle"):
        load_model(path)
    assert not touched.exists()
    with contextlib.suppress(ModelError):
        load_model(path, trust_pickle=True)
    assert touched.exists()  # torch.export.load would have run it


def test_a_shape_expression_is_not_evaluated(tmp_path):
    touched = tmp_path / "touched"
    path = export(tmp_path / "m.pt2", Linear(), torch.ones(3, 4))

    def edit(program):
        sizes = program["graph_module"]["graph"]["tensor_values"]["x"]["sizes"]
        sizes[0]["as_expr"]["expr_str"] = f"__import__('pathlib').Path('{touched}').touch() or 3"

    edit_program(path, edit)
    with pytest.raises(ModelError, match="the expression"):
        load_model(path)
    assert not touched.exists()


def _target(program):
    program["graph_module"]["graph"]["nodes"][0]["target"] = "torch.os.system"


def _from_file(program):
    program["graph_module"]["graph"]["nodes"][0]["target"] = "torch.ops.aten.from_file.default"


def _node_name(program):
    program["graph_module"]["graph"]["nodes"][0]["name"] = "x; import os"


def _dotted_name(program):
    program["graph_module"]["graph"]["nodes"][0]["name"] = "torch.load"


def _key(program):
    program["graph_module"]["graph"]["tensor_values"]["a b"] = {}


def _guard(program):
    program["guards_code"] = ["L['x'].size()[0].__class__"]


def _guard_call(program):
    program["guards_code"] = ["exec(L['x'])"]


def _guard_text(program):
    program["guards_code"] = ["L['x y'].size()[0] == 1"]


def _guard_lambda(program):
    program["guards_code"] = ["(lambda: 1)()"]


def _tree(program):
    signature = program["graph_module"]["module_call_graph"][0]["signature"]
    signature["in_spec"] = signature["in_spec"].replace("builtins.tuple", "collections.defaultdict")


def _not_json(program):
    program["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] = "("


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (_target, "the operator 'torch.os.system'"),
        (_from_file, "the operator 'torch.ops.aten.from_file.default'"),
        (_node_name, "the name 'x; import os'"),
        (_dotted_name, "the name 'torch.load'"),
        (_key, "the name 'a b'"),
        (_guard, "the expression"),
        (_guard_call, "the expression"),
        (_guard_text, "the expression"),
        (_guard_lambda, "the expression"),
        (_tree, "a call signature of other types"),
        (_not_json, "a structure that PyTorch does not write"),
    ],
)
def test_programs_that_hold_more_than_a_classifier_are_refused(tmp_path, edit, message):
    path = export(tmp_path / "m.pt2", Linear(), torch.ones(3, 4))
    with pytest.raises(ModelError, match=message):
        load_model(edit_program(path, edit))


def test_a_guard_that_torch_writes_is_fine(tmp_path):
    path = export(tmp_path / "m.pt2", Linear(), torch.ones(3, 4))

    def edit(program):
        program["guards_code"] = ["L['x'].size()[0] >= 1", "-1 != 2*L['x'].size()[0]"]

    load_model(edit_program(path, edit))


@pytest.mark.parametrize(
    ("wanted", "replacement", "message"),
    [
        (
            "weights_config.json",
            (b'"use_pickle": false', b'"use_pickle": true'),
            "a pickled weight",
        ),
        ("weights_config.json", (b"weight_0", b"opaque_obj_0"), "a pickled weight"),
        ("archive_version", None, "could not be read as a torch.export file"),
        ("models/model.json", None, "a structure that PyTorch does not write"),
    ],
)
def test_archives_of_another_structure_are_refused(tmp_path, wanted, replacement, message):
    path = export(tmp_path / "m.pt2", Linear(), torch.ones(3, 4))

    def change(name, content):
        if not name.endswith(wanted):
            return content
        return content.replace(*replacement) if replacement else None

    with pytest.raises(ModelError, match=message):
        load_model(rewrite(path, change))


def test_compiled_libraries_in_the_archive_are_refused(tmp_path):
    path = export(tmp_path / "m.pt2", Linear(), torch.ones(3, 4))
    with zipfile.ZipFile(path, "a") as archive:
        top = archive.namelist()[0].split("/")[0]
        archive.writestr(f"{top}/data/aotinductor/model/lib.so", b"\x7fELF")
    with pytest.raises(ModelError, match=r"the record 'data/aotinductor/model/lib.so'"):
        load_model(path)


def test_a_broken_file_is_called_unreadable(tmp_path):
    path = tmp_path / "broken.pt2"
    path.write_bytes(b"not a zip")
    with pytest.raises(ModelError, match="could not be read as a PyTorch archive"):
        load_model(str(path))
