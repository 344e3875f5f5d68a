"""The trace: all that happened to each text, the texts included, for its owner alone.

It is written to a file that nobody else can read and that nobody else has made. Nothing is opened
through a link, and what is there already is overwritten only by force.
"""

from __future__ import annotations

import dataclasses
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dynaserve._version import __version__
from dynaserve.cli.anonymize_output import lock, parted, require_own
from dynaserve.cli.anonymize_writing import Write, appending
from dynaserve.rlaa.records import Result, Span
from dynaserve.serving.anonymized import figure, offsets

OPENING = b'{"dynaserve": "'
"""What every line starts with: it tells a trace from other files."""


def entry(text: str, name: str | int, result: Result) -> bytes:
    """Return the line of a text. Spans count code points, and UTF-16 units beside them."""
    versions = (text, *(turn.text for turn in result.rounds))
    end = dataclasses.replace(result, rounds=(), residual=())
    document = {
        "dynaserve": __version__,
        "id": name,
        "original": text,
        "releasable": result.releasable,
        **_told(end, text),
        # A round speaks of the text before it, what stayed open of the last one.
        "rounds": [_told(*each) for each in zip(result.rounds, versions[:-1], strict=True)],
        "residual": _told(result.residual, versions[-1]),
    }
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"


def _told(value: Any, text: str) -> Any:
    """Return a value as JSON has it, its spans being those of a text."""
    if isinstance(value, Span):
        return offsets(text, value)
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {each.name: _told(getattr(value, each.name), text) for each in fields}
    if isinstance(value, tuple):
        return [_told(each, text) for each in value]
    return figure(value) if isinstance(value, float) else value


@contextmanager
def traced(path: Path | None, *, resumes: bool, force: bool) -> Iterator[Write | None]:
    """Open a trace to write to, to go on with it if the run ``resumes`` one.

    Raises
    ------
    ValueError, OSError
        There is something that may not be overwritten or gone on with; it stays as it was.
    """
    if path is None:
        yield None
        return
    if os.path.lexists(path):
        _require_plain(path.lstat(), path)
        if force:
            path.unlink()  # who has the old file open does not get to read the new one
        elif not resumes:
            raise ValueError(f"--trace: {path} exists; pass --force to overwrite it")
    how = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    how |= 0 if resumes else os.O_EXCL
    with os.fdopen(os.open(path, how, 0o600), "a+b", buffering=0) as file:
        _require_plain(os.fstat(file.fileno()), path)
        lock(file, path)
        whole, rest = parted(file)
        for line in (whole, rest):
            require_own(line, OPENING, path)
        os.fchmod(file.fileno(), 0o600)  # it may have been there with another mode
        file.truncate(len(whole))
        yield appending(file, f"--trace: {path}", "make room, or name another file")


def _require_plain(info: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_nlink > 1:
        raise ValueError(
            f"--trace: {path} is not a plain file of your own; name another file to write"
        )
