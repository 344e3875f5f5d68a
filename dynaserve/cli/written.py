"""Which files a command may write over: never its own inputs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dynaserve.cli.outcome import UsageError


def require_no_input(written: Path | None, inputs: Iterable[str | Path | None]) -> None:
    """Refuse to write a file that is read too, by whatever name."""
    if written is not None and any(same_file(written, Path(each)) for each in inputs if each):
        raise UsageError(f"{written} is an input; name another file to write")


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, which need not be there yet."""
    if one.resolve() == other.resolve():
        return True
    return one.exists() and other.exists() and one.samefile(other)  # a hard link
