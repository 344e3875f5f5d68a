"""Bytes that are written to the last, or a word about what stood in the way.

A full disk and a pipe that nobody reads are no faults of ours, and nothing that was read is lost by
them. Where bytes go is for others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import RawIOBase
from pathlib import Path

from dynaserve.cli.outcome import UsageError

STDOUT = "stdout"
Write = Callable[[bytes], None]
"""Writes bytes, all of them, or raises `UsageError`."""


@contextmanager
def writing(where: str | Path, advice: str) -> Iterator[None]:
    """Say plainly that something cannot be written, why, and what may be done about it."""
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise UsageError(f"{where}: cannot be written ({why}); {advice}") from error


def appending(file: RawIOBase, where: str | Path, advice: str) -> Write:
    """Return what appends to an unbuffered file, with the advice to give where it cannot."""

    def append(content: bytes) -> None:
        rest = memoryview(content)
        with writing(where, advice):
            while rest:  # a disk that gets full takes a part
                rest = rest[file.write(rest) :]

    return append


def require_stdout() -> None:
    """Refuse to work for a standard output that is closed."""
    if sys.stdout is None:
        raise UsageError(f"{STDOUT}: is closed; name a file with --output")


def to_stdout(content: bytes) -> None:
    """Write to standard output at once."""
    with writing(STDOUT, "not all of the result has come out"):
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
