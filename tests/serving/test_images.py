from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import attrs
import pytest
from bentoml.exceptions import BentoMLException
from bentoml.images import Image

from dynaserve import __version__
from dynaserve.serving import images
from dynaserve.serving.images import TOOLS, DynaServeImage, in_container, requirement


def test_an_installed_package_is_required_by_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "CHECKOUT", tmp_path)
    assert requirement(tmp_path / "wheels") == f"dynaserve[serve]=={__version__}"
    assert not (tmp_path / "wheels").exists()


def test_a_checkout_goes_along_as_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "setup.py").touch()
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> Any:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(images, "CHECKOUT", tmp_path)
    monkeypatch.setattr(images, "get_uv_command", lambda: ["uv"])
    monkeypatch.setattr(images.subprocess, "run", run)
    line = requirement(tmp_path / "wheels")
    assert line == f"dynaserve[serve] @ file:./wheels/dynaserve-{__version__}.tar.gz"
    (command,) = commands
    assert command[:3] == ["uv", "build", "--sdist"]
    assert command[3:] == ["--out-dir", str(tmp_path / "wheels"), str(tmp_path)]


def test_a_source_archive_that_cannot_be_built_stops_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "setup.py").touch()
    monkeypatch.setattr(images, "CHECKOUT", tmp_path)
    monkeypatch.setattr(images, "get_uv_command", lambda: ["sh", "-c", "echo no >&2; exit 1"])
    with pytest.raises(BentoMLException, match="cannot be built:\nno"):
        requirement(tmp_path / "wheels")


def test_bentoml_locks_the_requirements_with_dynaserve_among_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked: list[str] = []
    monkeypatch.setattr(images, "requirement", lambda wheels: f"dynaserve from {wheels}")
    monkeypatch.setattr(Image, "freeze", lambda self, *_: locked.append(self.python_requirements))
    image = DynaServeImage(python_version="3.11").python_packages("skops")
    # BentoML copies the image before it builds.
    copied = attrs.evolve(image)
    for _ in range(2):
        copied.freeze(tmp_path, [], None)
    assert locked == [f"skops\ndynaserve from {tmp_path / 'src' / 'wheels'}\n"] * 2


def test_the_tools_are_installed_once_however_often_bentoml_copies_the_image() -> None:
    image = DynaServeImage(python_version="3.11").run("touch /made")
    copied = attrs.evolve(attrs.evolve(image, base_image="debian:12"))
    assert copied.commands == [TOOLS, "touch /made"]
    assert copied.base_image == "debian:12"


def test_another_distribution_keeps_bentoml_s_own_tools() -> None:
    (command,) = DynaServeImage(distro="alpine").commands
    assert command.startswith("apk add")


def test_a_service_in_a_container_can_be_reached_and_reports_to_nobody() -> None:
    options = in_container("skops", environment={"DYNASERVE_SOURCE": "m.skops"})
    envs = {env["name"]: env["value"] for env in options["envs"]}
    assert envs == {
        "BENTOML_HOST": "0.0.0.0",
        "BENTOML_DO_NOT_TRACK": "True",
        "CMAKE_ARGS": "-DGGML_NATIVE=OFF",
        "DYNASERVE_SOURCE": "m.skops",
    }
    assert options["image"].python_requirements == "skops\n"
    assert options["image"].base_image.startswith("python:")


def test_a_container_may_have_another_base_and_another_python() -> None:
    image = in_container(base_image="debian:12", python_version="3.12")["image"]
    assert (image.base_image, image.python_version) == ("debian:12", "3.12")
    assert image.python_requirements == ""
