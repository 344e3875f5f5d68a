"""Files that may be written, and those that must stay."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dynaserve.cli.outcome import UsageError
from dynaserve.cli.written import remove, require_free, require_no_input, write


def test_what_is_new_may_be_written_and_what_is_there_only_if_told(tmp_path: Path) -> None:
    path = tmp_path / "out"
    require_free(None, force=False)
    require_free(path, force=False)
    path.write_text("mine")
    with pytest.raises(UsageError, match=r"out exists; pass --force to overwrite it"):
        require_free(path, force=False)
    require_free(path, force=True)
    assert path.read_text() == "mine"


def test_where_nothing_can_be_written_force_does_not_help(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, message in (
        (tmp_path, "is a directory; name the file to write in it"),
        (tmp_path / "nowhere" / "out", "nowhere is not a directory"),
        (tmp_path / "file" / "out", "file is not a directory"),
    ):
        with pytest.raises(UsageError, match=message):
            require_free(path, force=True)


def test_a_directory_that_is_closed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = {tmp_path.resolve(), Path(os.devnull)}  # of a device, its own leave
    monkeypatch.setattr(os, "access", lambda path, _mode: path not in closed)
    require_free(tmp_path.parent / "out", force=False)
    with pytest.raises(UsageError, match="is not to be written to"):
        require_free(tmp_path / "out", force=False)
    with pytest.raises(UsageError, match="is not to be written to"):
        require_free(Path(os.devnull), force=True)


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "file")
    write(tmp_path / "link", b"one")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "deep" / "file").read_bytes() == b"one"
    assert remove(tmp_path / "link")
    assert not (tmp_path / "deep" / "file").exists()
    assert not remove(tmp_path / "link")


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(pipe, b"words")
        assert os.read(reader, 10) == b"words"
    finally:
        os.close(reader)
    assert not remove(pipe)
    assert pipe.is_fifo()


def test_an_input_is_known_by_any_name(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.touch()
    (tmp_path / "hard").hardlink_to(path)
    (tmp_path / "soft").symlink_to(path)
    for name in ("in", "hard", "soft", "./in"):
        with pytest.raises(UsageError, match="is an input"):
            require_no_input(tmp_path / name, [None, "", path])
    require_no_input(tmp_path / "other", [None, "", path])
    require_no_input(None, [path])
