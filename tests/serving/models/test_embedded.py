from __future__ import annotations

import stat
import subprocess
import sys

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from dynaserve.serving.models import embedded, load_model


def test_the_default_is_a_digits_classifier_that_fits_its_half(state_directory):
    model = load_model(None)
    data = embedded.digits()
    assert (model.input_shape, model.dtype, model.classes) == ((64,), np.float64, list(range(10)))
    fitted = model.logits(data.member_images).argmax(axis=1) == data.member_labels
    held_out = model.logits(data.held_out_images).argmax(axis=1) == data.held_out_labels
    assert fitted.all()
    assert 0.9 < held_out.mean() < 0.99
    (path,) = state_directory.glob("embedded/digits-*.skops")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_no_held_out_row_was_trained_on():
    data = embedded.digits()
    members = {row.tobytes() for row in data.member_images}
    assert len(data.member_labels) + len(data.held_out_labels) == 1797
    assert not members & {row.tobytes() for row in data.held_out_images}


def test_held_out_logits_are_those_of_the_model():
    logits, labels = embedded.held_out()
    assert logits.shape == (899, 10)
    assert (logits == embedded.load().logits(embedded.digits().held_out_images)).all()
    assert (labels == embedded.digits().held_out_labels).all()


def test_a_second_start_reads_the_file(monkeypatch):
    first = embedded.load()

    def fail():
        raise AssertionError("trained again")

    monkeypatch.setattr(embedded, "_train", fail)
    assert embedded.load().version == first.version


def test_it_is_read_without_frameworks_that_it_does_not_need():
    embedded.load()
    code = (
        "import sys, dynaserve.serving.models as m; m.load_model(None);"
        "print([name for name in ('torch', 'dask', 'onnxruntime') if name in sys.modules]);"
        "import sklearn.externals.array_api_compat.torch"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout.strip() == "[]"


def test_training_again_gives_the_same_version(state_directory):
    first = embedded.load()
    (path,) = state_directory.glob("embedded/*.skops")
    path.unlink()
    assert embedded.load().version == first.version


@pytest.mark.parametrize("kind", ["corrupt", "empty", "another model"])
def test_a_cache_that_is_not_the_model_is_replaced(state_directory, kind, iris):
    first = embedded.load()
    (path,) = state_directory.glob("embedded/*.skops")
    if kind == "another model":
        skops.io.dump(LogisticRegression(max_iter=1000).fit(*iris), path)
    else:
        path.write_bytes(b"broken" if kind == "corrupt" else b"")
    assert embedded.load().version == first.version
    assert path.stat().st_size > 10_000


def test_processes_that_start_together_get_the_same_model(state_directory):
    code = "from dynaserve.serving.models import embedded; print(embedded.load().version)"
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    versions = {process.communicate()[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0]
    assert len(versions) == 1
    assert [path.suffix for path in (state_directory / "embedded").iterdir()] == [".skops"]
