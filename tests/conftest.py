"""Keeps every test away from the user's own state directory and noise key, and from the clock."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("dynaserve", deadline=None)
settings.load_profile("dynaserve")


@pytest.fixture(autouse=True)
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "state"
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(directory))
    monkeypatch.delenv("DYNASERVE_NOISE_KEY", raising=False)
    return directory
