from __future__ import annotations

import importlib
import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bentoml.exceptions import BentoMLException

from dynaserve.cli import bento_image

# What `bentoml.bentos` gives may be a stand-in that loads it later.
BENTOS = importlib.import_module("bentoml.bentos")


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Stand in for BentoML's build, and keep what it was asked for."""
    asked: list[dict[str, Any]] = []

    def build(service: str, *, build_ctx: str, version: str | None) -> Any:
        code = Path(build_ctx, "service.py").read_text()
        asked.append({"service": service, "version": version, "code": code})
        name = service.partition(":")[2].lower()
        return SimpleNamespace(
            tag=f"{name}:{version or 'new'}", path="/store/it", total_size=lambda: 1_234_567
        )

    monkeypatch.setattr(BENTOS, "build", build)
    return asked


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Stand in for the container backends, and keep what they were asked for."""
    asked: list[tuple[Any, ...]] = []

    def make_image(bento: Any, *rest: Any) -> None:
        asked.append((bento.tag, *rest))

    monkeypatch.setattr(bento_image, "require_backend", lambda _: None)
    monkeypatch.setattr(bento_image, "make_image", make_image)
    return asked


@pytest.mark.parametrize("service", ["classifier", "anonymizer", "summaries"])
def test_each_service_can_be_built(run, builds, service):
    result = run("bento", "build", service, "--version", "v1", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {
        "bento": f"{service}:v1",
        "path": "/store/it",
        "bytes": 1_234_567,
    }
    (asked,) = builds
    assert asked["service"] == f"service:{service.title()}"
    assert f"{service}_service(" in asked["code"]


def test_text_says_how_to_serve_it(run, builds):
    out = run("bento", "build", "classifier").stdout
    assert "classifier:new, 1.2 MB" in out
    assert "bentoml serve classifier:new" in out
    assert len(builds) == 1


def test_what_is_chosen_reaches_the_service(run, builds):
    options = ("--package", "xgboost", "--base-image", "debian:12", "--python", "3.12")
    assert run("bento", "build", "classifier", *options).exit_code == 0
    assert '"xgboost", base_image="debian:12", python_version="3.12"' in builds[0]["code"]


def test_an_image_is_made_of_the_new_bento(run, builds, images):
    options = ("--backend", "podman", "--tag", "fraud:7", "--opt", "no-cache")
    result = run(
        "bento", "containerize", "classifier", *options, "--opt", "label=a=b", "--opt", "label=c=d"
    )
    assert result.exit_code == 0, result.output
    assert "fraud:7, made by podman" in result.stdout
    assert images == [
        ("classifier:new", "podman", ["fraud:7"], {"no_cache": True, "label": ("a=b", "c=d")})
    ]
    assert len(builds) == 1


def test_an_image_without_a_name_has_that_of_its_bento(run, builds, images):
    result = run("bento", "containerize", "summaries", "--json")
    assert json.loads(result.stdout) == {
        "bento": "summaries:new",
        "images": ["summaries:new"],
        "backend": "docker",
    }
    assert (len(builds), len(images)) == (1, 1)


@pytest.mark.usefixtures("images")
def test_a_build_that_fails_is_one_line_and_exit_code_1(run, monkeypatch):
    def fail(*_: Any, **__: Any) -> Any:
        raise BentoMLException("no network")

    monkeypatch.setattr(BENTOS, "build", fail)
    for command in ("build", "containerize"):
        result = run("bento", command, "classifier")
        assert result.exit_code == 1
        assert result.stderr == "error: no network\n"


def test_a_backend_that_is_not_there_is_said_before_anything_is_built(run, builds, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    result = run("bento", "containerize", "classifier", "--backend", "podman")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: podman is not installed or does not answer")
    assert builds == []


@pytest.mark.parametrize("option", ["tag=x", "file=/etc/passwd", "context-path=/", "=x"])
def test_an_option_that_would_replace_ours_is_refused(run, builds, images, option):
    result = run("bento", "containerize", "classifier", "--opt", option)
    assert result.exit_code == 2
    assert "not an option that can be given here" in result.stderr
    assert (builds, images) == ([], [])


@pytest.mark.parametrize("given", [["x", "x=1"], ["x=1", "x"]])
def test_an_option_is_a_flag_or_has_values(run, builds, images, given):
    options = [each for text in given for each in ("--opt", text)]
    result = run("bento", "containerize", "classifier", *options)
    assert result.exit_code == 2
    assert "x is given with a value and without one" in result.stderr
    assert (builds, images) == ([], [])
    again = run("bento", "containerize", "classifier", "--opt", "y", "--opt", "y", "--opt", "z=1")
    assert again.exit_code == 0, again.output
    assert images[0][-1] == {"y": True, "z": ("1",)}


def test_what_builders_say_is_shown_only_while_they_build(run, builds):
    logger = logging.getLogger("bentoml")
    before = logger.level, list(logger.handlers)
    assert run("bento", "build", "classifier").exit_code == 0
    assert len(builds) == 1
    assert (logger.level, logger.handlers) == before


@pytest.mark.parametrize("option", ["--model", "--defense"])
def test_a_key_is_never_baked_in(run, builds, tmp_path, option):
    key = tmp_path / "noise.key"
    key.write_bytes(bytes(range(32)))
    result = run("bento", "build", "classifier", option, key)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert builds == []


@pytest.mark.parametrize("command", ["build", "containerize"])
def test_help_has_an_example(run, command):
    assert (
        f"Example: dynaserve bento {command} classifier" in run("bento", command, "--help").stdout
    )
