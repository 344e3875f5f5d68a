from __future__ import annotations

import subprocess
import sys
import warnings

import pytest
import sklearn
import skops.io

from dynaserve.serving.models import ModelError, ModelWarning, load_model
from dynaserve.serving.models.imports import require


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.skops", "missing.skops does not exist"),
        ("model.h5", r"unknown model format \.h5; known are \.skops.*\.pt"),
        ("model", r"unknown model format \(no suffix\).*name:latest"),
        (".", "is a directory"),
    ],
)
def test_a_source_that_is_no_model_file_is_explained(tmp_path, name, message):
    with pytest.raises(ModelError, match=message):
        load_model(str(tmp_path / name))


@pytest.mark.parametrize("suffix", ["skops", "joblib", "onnx", "pt2", "pt", "PKL"])
def test_an_empty_file_is_called_empty(tmp_path, suffix):
    (tmp_path / f"m.{suffix}").touch()
    with pytest.raises(ModelError, match="is empty"):
        load_model(str(tmp_path / f"m.{suffix}"), trust_pickle=True)


def test_an_unreadable_file_says_why(tmp_path, monkeypatch):
    import pathlib

    path = tmp_path / "m.skops"
    path.write_bytes(b"x")

    def deny(_self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pathlib.Path, "read_bytes", deny)
    with pytest.raises(ModelError, match="cannot be read: Permission denied"):
        load_model(str(path))


def test_warnings_of_a_library_become_one(tmp_path, logistic, monkeypatch):
    monkeypatch.setattr(sklearn, "__version__", "1.0.1")
    monkeypatch.setattr("sklearn.base.__version__", "1.0.1")
    skops.io.dump(logistic, tmp_path / "old.skops")
    monkeypatch.undo()
    with pytest.warns(ModelWarning, match=r"old\.skops: .*1\.0\.1") as caught:
        load_model(str(tmp_path / "old.skops"))
    assert len(caught) == 1


def test_a_clean_file_warns_of_nothing(tmp_path, logistic):
    skops.io.dump(logistic, tmp_path / "m.skops")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(str(tmp_path / "m.skops"))


def test_a_missing_library_names_the_extra():
    with pytest.raises(ModelError, match=r"pip install 'dynaserve\[torch\]'"):
        require("torchless", extra="torch")


def test_a_library_that_is_itself_broken_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "brokenlib.py").write_text("import not_there_either\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_there_either"):
        require("brokenlib", extra="serve")


def test_importing_the_loaders_imports_no_framework():
    code = (
        "import sys, dynaserve.serving.models, dynaserve.serving.models.embedded\n"
        "print({'torch', 'bentoml', 'sklearn', 'onnxruntime', 'skops'} & set(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"
