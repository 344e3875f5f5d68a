from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from dynaserve.atomic import create_file, replace_file, replace_with


def test_replacing_leaves_the_new_content_and_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"one")
    replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_replacement_has_the_mode_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"one")
    replace_file(tmp_path / "file", b"two", mode=0o600)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_a_failed_replacement_keeps_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")

    def full(_descriptor: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_content_may_come_in_pieces_and_if_they_fail_the_old_content_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_with(path, iter([b"one ", b"and ", b"two"]), mode=0o600)
    assert path.read_bytes() == b"one and two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise OSError("a disk")

    with pytest.raises(OSError, match="a disk"):
        replace_with(path, pieces())
    assert path.read_bytes() == b"one and two"
    assert list(tmp_path.iterdir()) == [path]


def test_only_the_first_creation_wins(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert create_file(path, b"first", mode=0o600)
    assert not create_file(path, b"second", mode=0o600)
    assert path.read_bytes() == b"first"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
