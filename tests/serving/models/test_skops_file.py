from __future__ import annotations

import functools

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dynaserve.serving.models import ModelError, load_model


def test_a_model_comes_back_with_the_digest_of_its_file_as_version(tmp_path, iris, logistic):
    import hashlib

    path = tmp_path / "iris.skops"
    skops.io.dump(logistic, path)
    model = load_model(str(path))
    assert model.name == "iris.skops"
    assert model.version == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (model.logits(iris[0]).argmax(axis=1) == logistic.predict(iris[0])).all()


def test_a_network_loads_although_its_optimizer_is_unknown_to_skops(tmp_path, iris):
    path = tmp_path / "network.skops"
    network = MLPClassifier((4,), solver="sgd", tol=9).fit(*iris)
    skops.io.dump(network, path)
    assert "SGDOptimizer" in skops.io.get_untrusted_types(file=path)[0]
    assert load_model(str(path)).classes == [0, 1, 2]


def test_an_unknown_type_is_named_with_the_way_on(tmp_path, iris):
    path = tmp_path / "forest.skops"
    skops.io.dump(RandomForestClassifier(2).fit(*iris), path)
    with pytest.raises(ModelError, match=r"sklearn\.tree\._tree\.Tree.*--trust-pickle"):
        load_model(str(path))
    assert load_model(str(path), trust_pickle=True).dtype == np.float32


def test_a_function_in_the_file_is_not_called(tmp_path, logistic):
    touched = tmp_path / "touched"
    hostile = FunctionTransformer(functools.partial(np.save, str(touched)))
    path = tmp_path / "hostile.skops"
    skops.io.dump(make_pipeline(hostile, logistic), path)
    with pytest.raises(ModelError, match="does not vouch for"):
        load_model(str(path))
    assert not list(tmp_path.glob("touched*"))


@pytest.mark.parametrize("content", [b"not a zip", b"PK\x05\x06" + bytes(18)])
def test_a_broken_file_is_called_unreadable(tmp_path, content):
    path = tmp_path / "broken.skops"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"broken\.skops could not be read as a skops file"):
        load_model(str(path))
