from __future__ import annotations

import importlib.metadata
import json

from dynaserve import __version__, _core


def test_json_holds_what_is_in_force(run, state_directory, monkeypatch):
    monkeypatch.setenv("DYNASERVE_DEFENSE", "rank-template")
    facts = json.loads(run("info", "--json").stdout)
    assert facts["dynaserve"] == __version__
    assert facts["isa"] == _core.isa()
    assert facts["isas"] == _core.available_isas()
    assert facts["state_directory"] == str(state_directory)
    assert facts["defense"] == "rank-template"
    assert facts["packages"]["bentoml"] == importlib.metadata.version("bentoml")
    assert facts["extras"] == {"serve": True, "torch": True}


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
