from __future__ import annotations

import pathlib
import zipfile

import numpy as np
import pytest
import torch

from dynaserve.serving.models import ModelError, load_model
from tests.serving.models.networks import FromFile, Images, Linear, Quantized, Saving

pytestmark = pytest.mark.filterwarnings("ignore:`?torch.jit:DeprecationWarning")


def test_the_shape_of_a_row_follows_from_the_first_weight(tmp_path):
    module = Linear().eval()
    torch.jit.script(module).save(tmp_path / "m.pt")
    model = load_model(str(tmp_path / "m.pt"))
    x = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    assert (model.input_shape, model.dtype, model.classes) == ((4,), np.float32, [0, 1, 2])
    np.testing.assert_allclose(
        model.logits(x), module(torch.from_numpy(x)).detach().numpy(), rtol=1e-5
    )


def test_a_convolution_suggests_channels_and_open_sizes(tmp_path):
    layers = [torch.nn.Conv2d(3, 5, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()]
    torch.jit.script(torch.nn.Sequential(*layers)).save(tmp_path / "m.pt")
    assert load_model(str(tmp_path / "m.pt")).input_shape == (3, None, None)


def test_a_shape_that_the_file_declares_is_used(tmp_path):
    path = tmp_path / "m.pt"
    module = torch.jit.script(Images().eval())
    torch.jit.save(module, path)
    with pytest.raises(ModelError, match=r"does not say what one row looks like.*_extra_files"):
        load_model(str(path))
    torch.jit.save(module, path, _extra_files={"input_shape": "[64]"})
    assert load_model(str(path)).input_shape == (64,)
    torch.jit.save(module, path, _extra_files={"input_shape": "[63]"})
    with pytest.raises(ModelError, match=r"fails on 3 rows of shape \(63,\)"):
        load_model(str(path))


@pytest.mark.parametrize("declared", ["64", '["a"]', "[0]", "{"])
def test_a_declared_shape_must_be_one(tmp_path, declared):
    path = tmp_path / "m.pt"
    torch.jit.save(torch.jit.script(Linear()), path, _extra_files={"input_shape": declared})
    with pytest.raises(ModelError, match="must be a JSON list"):
        load_model(str(path))


def test_dropout_is_off(tmp_path):
    torch.jit.script(Images()).save(tmp_path / "m.pt", _extra_files={"input_shape": "[64]"})
    model = load_model(str(tmp_path / "m.pt"))
    x = np.ones((2, 64))
    assert (model.logits(x) == model.logits(x)).all()


def test_answers_that_are_no_table_are_refused(tmp_path):
    layers = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Flatten(0))
    path = tmp_path / "m.pt"
    torch.jit.save(torch.jit.script(layers), path, _extra_files={"input_shape": "[4]"})
    with pytest.raises(ModelError, match=r"answers 3 rows with float32 of shape \(9,\)"):
        load_model(str(tmp_path / "m.pt"))


@pytest.mark.parametrize(
    ("module", "found"), [(FromFile(), "from_file"), (Saving(), "save"), (Quantized(), "ops")]
)
def test_operators_that_reach_out_are_refused_before_loading(tmp_path, monkeypatch, module, found):
    monkeypatch.chdir(tmp_path)
    torch.jit.script(module).save("m.pt")
    with pytest.raises(ModelError, match=f"'{found}' in code/.*--trust-pickle"):
        load_model("m.pt")
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".py", "__torch__.torch.classes.inductor.Runner"),
        (".py", "__torch__.torch.classes # hidden\n .inductor.Runner"),
        (".py", 'getattr(torch, "sa" "ve")'),
        (".py", 'getattr(torch, "sav\\145")'),
        ("data.pkl", "c__torch__.torch\nclasses.inductor.Runner\n"),
        ("data.pkl", "c__torch__.torch.classes\ninductor.Runner\n"),
    ],
)
def test_native_classes_are_refused(tmp_path, suffix, text):
    path = tmp_path / "m.pt"
    torch.jit.script(Linear()).save(path)
    with zipfile.ZipFile(path) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in records.items():
            extra = text.encode() if name.endswith(suffix) else b""
            archive.writestr(name, content + extra)
    with pytest.raises(ModelError, match="which can run code or touch files"):
        load_model(str(path))


class Touch:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (pathlib.Path.touch, (self.path,))


def test_a_pickle_named_pt_does_not_run(tmp_path):
    touched = tmp_path / "touched"
    for legacy in (True, False):
        torch.save(Touch(touched), tmp_path / "m.pt", _use_new_zipfile_serialization=not legacy)
        with pytest.raises(ModelError, match=r"PyTorch archive|a pickle of torch\.save"):
            load_model(str(tmp_path / "m.pt"), trust_pickle=True)
    assert not touched.exists()


def test_an_exported_program_named_pt_is_told_its_name(tmp_path):
    program = torch.export.export(Linear(), (torch.ones(2, 4),))
    torch.export.save(program, tmp_path / "m.pt2")
    (tmp_path / "m.pt2").rename(tmp_path / "m.pt")
    with pytest.raises(ModelError, match=r"name it \.pt2"):
        load_model(str(tmp_path / "m.pt"))


def test_a_broken_program_is_called_unreadable(tmp_path):
    path = tmp_path / "m.pt"
    torch.jit.script(Linear()).save(path)
    with zipfile.ZipFile(path) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in records.items():
            archive.writestr(name, b"class (" if name.endswith(".py") else content)
    with pytest.raises(ModelError, match="could not be read as a TorchScript file"):
        load_model(str(path))
