from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bentoml.container import register_backend
from bentoml.exceptions import BentoMLException

from dynaserve.cli import bento_image
from dynaserve.cli.bento_image import STATE, USER, make_image, require_backend, two_stages

BENTOML_S = "FROM python:3.11-slim AS base-container\nCOPY . /home/bentoml/bento\nUSER bentoml\n"


def last_stage(dockerfile: str) -> list[str]:
    return dockerfile.replace("\\\n", "").rpartition("\nFROM ")[2].splitlines()


def test_the_last_stage_takes_the_environment_and_the_bento_and_nothing_else() -> None:
    lines = last_stage(two_stages(BENTOML_S, "debian:12", {}))
    assert lines[0] == "debian:12"
    assert [line for line in lines if line.startswith("COPY")] == [
        "COPY --from=base-container --chown=0:0 /app /app",
        "COPY --from=base-container --chown=0:0 /home/bentoml/bento /home/bentoml/bento",
    ]
    assert not any("apt-get" in line or "pip" in line for line in lines)


def test_it_runs_as_a_number_that_owns_the_state_alone() -> None:
    lines = last_stage(two_stages(BENTOML_S, "debian:12", {}))
    assert f"USER {USER}:{USER}" in lines
    owned = [
        part for line in lines for part in line.split("&&") if part.strip().startswith("chown")
    ]
    assert [part.split() for part in owned] == [["chown", f"{USER}:{USER}", STATE]]


def test_variables_arrive_as_they_are() -> None:
    odd = 'a "b" $HOME \\ é'
    lines = last_stage(two_stages(BENTOML_S, "debian:12", {"ODD": odd, "BENTOML_HOST": "0.0.0.0"}))
    (line,) = [line for line in lines if line.startswith("ENV ")]
    # A shell unquotes as a Dockerfile does.
    shown = subprocess.run(
        ["sh", "-c", f"export {line.removeprefix('ENV ')}; env -0"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    variables = dict(each.split("=", 1) for each in shown.split("\0") if each)
    assert variables["ODD"] == odd
    assert variables["BENTOML_HOST"] == "0.0.0.0"
    assert variables["DYNASERVE_STATE_DIR"] == STATE
    assert variables["BENTOML_HOME"].startswith("/tmp/")


def test_the_health_check_is_a_program_that_asks_readyz(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = last_stage(two_stages(BENTOML_S, "debian:12", {}))
    (line,) = [line for line in lines if line.startswith("HEALTHCHECK")]
    interpreter, flag, code = json.loads(line.partition(" CMD ")[2])
    assert (interpreter, flag) == ("/app/.venv/bin/python", "-c")
    asked: list[str] = []
    monkeypatch.setattr("urllib.request.urlopen", lambda url, **_: asked.append(url))
    monkeypatch.setenv("BENTOML_PORT", "3456")
    exec(code, {})
    assert asked == ["http://127.0.0.1:3456/readyz"]


def test_a_dockerfile_of_another_kind_is_refused() -> None:
    with pytest.raises(RuntimeError, match="base-container"):
        two_stages("FROM python:3.11-slim\n", "debian:12", {})


def test_a_backend_that_is_not_there_is_said_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(OSError, match="buildah is not installed or does not answer"):
        require_backend("buildah")


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a bento of one file, and a builder that keeps the Dockerfile it is given."""
    folder = tmp_path / "bento"
    (folder / "env" / "docker").mkdir(parents=True)
    (folder / "bento.yaml").touch()
    made = tmp_path / "made"
    script = tmp_path / "builder"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {made}.args\ncp "$3" {made}\n')
    script.chmod(0o755)

    def arguments(**options: Any) -> list[str]:
        tags = [f"--tag={tag}" for tag in options["tag"]]
        return ["--file", str(options["file"]), *tags, *options.get("label", ())]

    name = f"builder-{tmp_path.name}"
    register_backend(
        name,
        buildkit_support=False,
        health=lambda: True,
        construct_build_args=arguments,
        binary=str(script),
    )
    dockerfile = folder / "env" / "docker" / "Dockerfile"
    dockerfile.write_text(BENTOML_S)

    class Construct:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        def __enter__(self) -> tuple[str, str]:
            return str(folder), str(dockerfile)

        def __exit__(self, *_: Any) -> None: ...

    monkeypatch.setattr("bentoml._internal.container.construct_containerfile", Construct)
    info = SimpleNamespace(
        envs=[
            SimpleNamespace(name="DYNASERVE_SOURCE", value="m.onnx"),
            SimpleNamespace(name="CMAKE_ARGS", value="-DGGML_NATIVE=OFF"),
        ],
        image=SimpleNamespace(base_image="debian:12"),
    )
    return SimpleNamespace(bento=SimpleNamespace(info=info), backend=name, made=made, script=script)


def test_the_backend_gets_both_stages_and_the_options(built: Any) -> None:
    make_image(built.bento, built.backend, ["fraud:7", "fraud:latest"], {"label": ("a=b",)})
    lines = last_stage(built.made.read_text())
    (line,) = [line for line in lines if line.startswith("ENV ")]
    assert 'DYNASERVE_SOURCE="m.onnx"' in line
    assert "CMAKE_ARGS" not in line
    arguments = built.made.with_suffix(".args").read_text().splitlines()
    assert arguments[-3:] == ["--tag=fraud:7", "--tag=fraud:latest", "a=b"]


def test_a_build_that_fails_ends_with_the_builder_s_last_word(built: Any) -> None:
    built.script.write_text("#!/bin/sh\necho first >&2; echo no such base >&2; exit 3\n")
    with pytest.raises(BentoMLException, match=r"could not make the image: no such base$"):
        make_image(built.bento, built.backend, ["fraud:7"], {})


def test_no_secret_is_in_the_image_s_environment() -> None:
    assert not {"DYNASERVE_NOISE_KEY", "DYNASERVE_KEYS"} & {*bento_image.ENVIRONMENT}
