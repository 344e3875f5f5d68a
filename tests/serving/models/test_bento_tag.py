from __future__ import annotations

import hashlib

import pytest

from dynaserve.serving.models import ModelError, load_model

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def bentoml(tmp_path, monkeypatch):
    """BentoML with a model store of the test's own."""
    monkeypatch.setenv("BENTOML_DO_NOT_TRACK", "true")
    import bentoml
    from bentoml._internal.configuration.containers import BentoMLContainer

    home = tmp_path / "bentoml"
    (home / "models").mkdir(parents=True)
    with BentoMLContainer.bentoml_home.patch(str(home)):
        BentoMLContainer.model_store.reset()
        yield bentoml
    BentoMLContainer.model_store.reset()


def test_a_model_saved_by_bentoml_needs_trust_since_it_is_a_pickle(bentoml, iris, logistic):
    saved = bentoml.sklearn.save_model("iris", logistic)
    with pytest.raises(ModelError, match=r"iris:\w+ is a pickle"):
        load_model("iris:latest")
    model = load_model("iris:latest", trust_pickle=True)
    assert model.name == str(saved.tag)
    with open(saved.path_of("saved_model.pkl"), "rb") as file:
        assert model.version == hashlib.sha256(file.read()).hexdigest()
    assert (model.logits(iris[0]).argmax(axis=1) == logistic.predict(iris[0])).all()


def test_any_one_model_file_in_the_folder_is_found(bentoml, logistic):
    import skops.io

    with bentoml.models.create("mine") as created:
        skops.io.dump(logistic, created.path_of("m.skops"))
    assert load_model(f"mine:{created.tag.version}").classes == [0, 1, 2]


@pytest.mark.parametrize(("names", "found"), [([], "none"), (["a.onnx", "b.pt"], "a.onnx, b.pt")])
def test_a_folder_without_exactly_one_model_file_is_explained(bentoml, names, found):
    with bentoml.models.create("odd") as created:
        for name in names:
            with open(created.path_of(name), "wb") as file:
                file.write(b"x")
    with pytest.raises(ModelError, match=rf"exactly one model file .*found: {found}$"):
        load_model("odd:latest")


@pytest.mark.usefixtures("bentoml")
def test_an_unknown_tag_says_how_to_list_them():
    with pytest.raises(ModelError, match=r"absent:latest.*bentoml models list"):
        load_model("absent:latest")
