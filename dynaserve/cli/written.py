"""Which files a command may write over, and how: never its own inputs, and others only if told."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from dynaserve.atomic import replace_file
from dynaserve.cli.outcome import UsageError


def require_no_input(written: Path | None, inputs: Iterable[str | Path | None]) -> None:
    """Refuse to write a file that is read too, by whatever name."""
    if written is not None and any(same_file(written, Path(each)) for each in inputs if each):
        raise UsageError(f"{written} is an input; name another file to write")


def require_free(path: Path | None, *, force: bool) -> None:
    """Refuse a file that is there already, unless told, or that cannot be written.

    A command asks before it does anything that takes long.
    """
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"{path} is a directory; name the file to write in it")
    directory = path.resolve().parent
    if not directory.is_dir():
        raise UsageError(f"{path}: {directory} is not a directory")
    if path.exists() and not force:
        raise UsageError(f"{path} exists; pass --force to overwrite it")
    if not os.access(path if _is_special(path) else directory, os.W_OK):
        raise UsageError(f"{path}: {directory} is not to be written to")


def write(path: Path, content: bytes) -> None:
    """Write a file whole, or leave it as it was; what is no file, such as /dev/null, stays."""
    if _is_special(path):
        path.write_bytes(content)
    else:
        replace_file(path.resolve(), content)


def remove(path: Path) -> bool:
    """Remove what an earlier run wrote and this one takes back; return whether there was a file."""
    there = path.is_file()
    if there:
        path.resolve().unlink()
    return there


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, which need not be there yet."""
    if one.resolve() == other.resolve():
        return True
    return one.exists() and other.exists() and one.samefile(other)  # a hard link


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()
