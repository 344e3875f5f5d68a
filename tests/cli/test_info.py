from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys

import pytest

from dynaserve import DynaNoise, __version__, _core
from dynaserve.defenses import NoiseKey


def test_json_holds_what_is_in_force(run, state_directory, monkeypatch):
    monkeypatch.setenv("DYNASERVE_DEFENSE", "rank-template")
    facts = json.loads(run("info", "--json").stdout)
    assert facts["dynaserve"] == __version__
    assert facts["isa"] == _core.isa()
    assert facts["isas"] == _core.available_isas()
    assert facts["state_directory"] == str(state_directory)
    assert facts["defense"] == "rank-template"
    assert facts["packages"]["bentoml"] == importlib.metadata.version("bentoml")
    assert facts["extras"] == {
        "serve": True,
        "torch": True,
        "gpu": facts["packages"]["triton"] is not None,
    }
    assert facts["problems"] == []


def test_text_never_holds_the_key(run, monkeypatch):
    key = "ab" * 32
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", key)
    out = run("info").stdout
    assert "environment (DYNASERVE_NOISE_KEY)" in out
    assert key not in out


def test_a_missing_package_names_its_extra(run, monkeypatch):
    real = importlib.metadata.version

    def version(package):
        if package == "torch":
            raise importlib.metadata.PackageNotFoundError(package)
        return real(package)

    monkeypatch.setattr(importlib.metadata, "version", version)
    out = run("info").stdout
    assert "pip install 'dynaserve[torch]'" in out
    assert json.loads(run("info", "--json").stdout)["extras"]["torch"] is False


def test_settings_that_are_wrong_are_named(run, monkeypatch):
    monkeypatch.setenv("DYNASERVE_MAX_ROWS", "many")
    result = run("info")
    assert result.exit_code == 2
    assert "DYNASERVE_MAX_ROWS" in result.stderr


def test_an_instruction_set_that_is_not_there_is_one_line():
    code = "from dynaserve.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", code, "info"],
        env=os.environ | {"DYNASERVE_ISA": "avx9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert result.stderr.startswith("error: DYNASERVE_ISA=avx9 is not available here")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("key", ["5EC12E7", "00" * 32])
def test_a_key_that_is_none_is_a_problem_and_is_not_echoed(run, monkeypatch, key):
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", key)
    result = run("info")
    assert result.exit_code == 0
    assert "problem          DYNASERVE_NOISE_KEY: " in result.stdout
    assert key not in result.stdout


def test_a_key_file_that_others_can_read_is_a_problem(run, state_directory):
    NoiseKey.resolve()
    (state_directory / "noise.key").chmod(0o644)
    (problem,) = json.loads(run("info", "--json").stdout)["problems"]
    assert "others can read it" in problem


def test_looking_makes_no_key(run, state_directory):
    assert json.loads(run("info", "--json").stdout)["problems"] == []
    assert not (state_directory / "noise.key").exists()


@pytest.mark.parametrize(
    ("defense", "problem"),
    [("nonsense", "no defense has that name"), ("broken.toml", "is not a defense file")],
)
def test_a_defense_that_is_none_is_a_problem(run, monkeypatch, tmp_path, defense, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.toml").write_text("x = 1")
    monkeypatch.setenv("DYNASERVE_DEFENSE", defense)
    (said,) = json.loads(run("info", "--json").stdout)["problems"]
    assert problem in said


def test_a_defense_file_that_is_good_is_no_problem(run, monkeypatch, tmp_path):
    DynaNoise.paper().save(tmp_path / "good.toml")
    monkeypatch.setenv("DYNASERVE_DEFENSE", str(tmp_path / "good.toml"))
    assert json.loads(run("info", "--json").stdout)["problems"] == []


def test_without_a_state_directory_it_says_so_and_the_rest(run, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(tmp_path / "file"))
    facts = json.loads(run("info", "--json").stdout)
    assert facts["isa"] == _core.isa()
    (problem,) = facts["problems"]
    assert "set DYNASERVE_STATE_DIR" in problem
