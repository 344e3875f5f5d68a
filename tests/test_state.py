from __future__ import annotations

import stat
from pathlib import Path

import pytest

from dynaserve.state import state_directory


def test_the_chosen_directory_is_created_for_the_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(tmp_path / "a" / "b"))
    directory = state_directory()
    assert directory == tmp_path / "a" / "b"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert state_directory() == directory


def test_xdg_state_home_comes_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DYNASERVE_STATE_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_directory() == tmp_path / "dynaserve"


@pytest.mark.parametrize("unusable", [None, "relative/path", ""])
def test_the_home_directory_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unusable: str | None
) -> None:
    monkeypatch.delenv("DYNASERVE_STATE_DIR")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    if unusable is not None:
        monkeypatch.setenv("XDG_STATE_HOME", unusable)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_directory() == tmp_path / ".local" / "state" / "dynaserve"


def test_a_tilde_means_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DYNASERVE_STATE_DIR", "~/kept")
    assert state_directory() == tmp_path / "kept"


def test_a_directory_that_cannot_be_made_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(tmp_path / "file"))
    with pytest.raises(OSError, match="set DYNASERVE_STATE_DIR"):
        state_directory()
