"""A state directory of the tests' own, and the command line without a process around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dynaserve.cli import app


@pytest.fixture(autouse=True)
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "state"
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(directory))
    for name in ("NOISE_KEY", "DEFENSE", "DEBUG", "SOURCE", "WORKERS", "MAX_ROWS"):
        monkeypatch.delenv(f"DYNASERVE_{name}", raising=False)
    return directory


@pytest.fixture
def run():
    """Run ``dynaserve`` with these arguments; the result has exit_code, stdout and stderr."""
    return lambda *arguments: CliRunner().invoke(app, [str(each) for each in arguments])
