from __future__ import annotations

import pathlib
import pickle

import joblib
import pytest

from dynaserve.serving.models import ModelError, load_model


class Touch:
    """Unpickling this creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (pathlib.Path.touch, (self.path,))


@pytest.mark.parametrize("suffix", ["joblib", "pkl", "pickle"])
def test_no_code_of_an_untrusted_pickle_runs(tmp_path, suffix):
    touched = tmp_path / "touched"
    path = tmp_path / f"hostile.{suffix}"
    path.write_bytes(pickle.dumps(Touch(touched)))
    with pytest.raises(
        ModelError, match=r"runs whatever code its author put inside.*--trust-pickle"
    ):
        load_model(str(path))
    assert not touched.exists()
    with pytest.raises(ModelError, match="NoneType, not a scikit-learn estimator"):
        load_model(str(path), trust_pickle=True)
    assert touched.exists()  # the file would have run its code


@pytest.mark.parametrize("dump", [joblib.dump, lambda m, p: p.write_bytes(pickle.dumps(m))])
def test_a_trusted_pickle_is_served(tmp_path, iris, logistic, dump):
    path = tmp_path / "iris.pkl"
    dump(logistic, path)
    model = load_model(str(path), trust_pickle=True)
    assert (model.logits(iris[0]).argmax(axis=1) == logistic.predict(iris[0])).all()


def test_a_broken_pickle_is_called_unreadable(tmp_path):
    path = tmp_path / "broken.pkl"
    path.write_bytes(b"\x80\x04garbage")
    with pytest.raises(ModelError, match="could not be read as a joblib or pickle file"):
        load_model(str(path), trust_pickle=True)
