"""Keeps tests from the user's own state directory and noise key, the clock, and each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import settings

settings.register_profile("dynaserve", deadline=None)
settings.load_profile("dynaserve")


@pytest.fixture(autouse=True)
def environment_put_back() -> Iterator[None]:
    """Give no later test the variables by which a service that is checked tells its workers."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture(autouse=True)
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "state"
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(directory))
    monkeypatch.delenv("DYNASERVE_NOISE_KEY", raising=False)
    return directory
