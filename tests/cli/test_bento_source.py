from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from dynaserve import DynaNoise, RankTemplate
from dynaserve.cli.bento_source import EXTRAS, IGNORED, Baked, Recipe
from dynaserve.cli.outcome import UsageError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    labels = np.arange(60) % 3
    fitted = LogisticRegression().fit(rng.normal(size=(60, 4)) + labels[:, None], labels)
    path = tmp_path / "flowers.skops"
    skops.io.dump(fitted, path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder"
    path.mkdir()
    return path


@pytest.mark.parametrize("service", EXTRAS)
def test_the_service_is_the_one_of_the_checkout(service: str, folder: Path) -> None:
    name = Recipe(service).write(folder, Baked())
    assert name == f"service:{service.title()}"
    written = (folder / "service.py").read_text().splitlines()
    checked_in = (ROOT / "bentos" / service / "service.py").read_text().splitlines()
    assert sorted(written[1:]) == sorted(checked_in[1:])


@pytest.mark.parametrize("service", EXTRAS)
def test_keys_are_ignored_there_and_here(service: str, folder: Path) -> None:
    Recipe(service).write(folder, Baked())
    written = (folder / ".bentoignore").read_text()
    assert written == (ROOT / "bentos" / service / ".bentoignore").read_text()
    assert {"*.key", "*keys*.toml", "*.pem", ".env"} <= {*IGNORED}


def test_what_is_named_is_in_the_service(folder: Path) -> None:
    recipe = Recipe(
        "summaries", packages=("spacy>=3",), base_image="debian:12", python_version="3.12"
    )
    recipe.write(folder, Baked(environment={"A": "it's"}, packages=("numpy==2",)))
    given: list[object] = []
    code = (folder / "service.py").read_text()
    call = next(line for line in code.splitlines() if line.startswith("Summaries = "))
    names = {
        "summaries_service": lambda **options: options,
        "in_container": lambda *packages, **options: given.append((packages, options)) or {},
    }
    exec(call, names)
    assert given == [
        (
            ("dynaserve[canary]", "numpy==2", "spacy>=3"),
            {"environment": {"A": "it's"}, "base_image": "debian:12", "python_version": "3.12"},
        )
    ]


def test_a_model_is_baked_in_with_what_it_was_made_with(model: Path, folder: Path) -> None:
    content = Recipe("classifier", model=model).bake()
    assert content.environment == {"DYNASERVE_SOURCE": "flowers.skops"}
    assert f"scikit-learn=={version('scikit-learn')}" in content.packages
    Recipe("classifier", model=model).write(folder, content)
    assert (folder / "flowers.skops").read_bytes() == model.read_bytes()
    assert {path.name for path in folder.iterdir()} == {
        "service.py",
        ".bentoignore",
        "flowers.skops",
    }


def test_a_defense_is_baked_in_and_leaves_no_key_on_the_machine(
    model: Path, tmp_path: Path, state_directory: Path
) -> None:
    defense = tmp_path / "mine.toml"
    DynaNoise.keyed(bytes(range(32))).save(defense)
    content = Recipe("classifier", model=model, defense=defense).bake()
    assert content.environment["DYNASERVE_DEFENSE"] == "defense.toml"
    assert content.files["defense.toml"] == defense
    assert not list(state_directory.rglob("*.key"))
    assert "DYNASERVE_NOISE_KEY" not in os.environ


@pytest.mark.parametrize("given", ["", "ab" * 32])
def test_the_noise_key_in_the_environment_stays_what_it_was(
    model: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", given)
    Recipe("classifier", model=model).bake()
    assert os.environ["DYNASERVE_NOISE_KEY"] == given


def test_a_model_and_a_defense_that_do_not_fit_are_refused(model: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    defense = tmp_path / "of-five-classes.toml"
    RankTemplate.calibrate(rng.normal(size=(400, 5)), np.arange(400) % 5).save(defense)
    with pytest.raises(ValueError, match="classes"):
        Recipe("classifier", model=model, defense=defense).bake()


@pytest.mark.parametrize("name", ["noise.key", "api_keys.toml"])
def test_a_key_is_no_model(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(bytes(range(32)))
    with pytest.raises(ValueError, match="unknown model format"):
        Recipe("classifier", model=path).bake()


def test_a_file_of_api_keys_is_no_defense(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "api_keys.toml"
    path.write_text('[keys.a]\nsha256 = "00"\n')
    with pytest.raises(ValueError, match=r"api_keys\.toml"):
        Recipe("classifier", model=model, defense=path).bake()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--model .*gone\.onnx: no such file"):
        Recipe("classifier", model=tmp_path / "gone.onnx").bake()
    with pytest.raises(UsageError, match=r"--defense .*gone\.toml: no such file"):
        Recipe("classifier", defense=tmp_path / "gone.toml").bake()


def test_the_anonymizer_takes_a_gguf_alone(tmp_path: Path) -> None:
    path = tmp_path / "small.gguf"
    path.write_bytes(b"GGUF" + bytes(20))
    content = Recipe("anonymizer", model=path).bake()
    assert content.environment == {"DYNASERVE_MODEL": "small.gguf"}
    path.write_bytes(b"else")
    with pytest.raises(UsageError, match="not a GGUF file"):
        Recipe("anonymizer", model=path).bake()


@pytest.mark.parametrize(
    ("service", "option"),
    [("summaries", "model"), ("summaries", "defense"), ("anonymizer", "defense")],
)
def test_an_option_that_a_service_has_not_is_refused(
    service: str, option: str, tmp_path: Path
) -> None:
    path = tmp_path / "file.toml"
    path.touch()
    with pytest.raises(UsageError, match=f"--{option}: {service} has none"):
        Recipe(service, **{option: path}).bake()
