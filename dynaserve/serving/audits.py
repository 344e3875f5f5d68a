"""Reports of audits, kept for a while where every worker of the machine finds them.

One small file each, readable by this user alone. A report holds nothing of a text, so that a disk
may have it; its id cannot be guessed, and is all that it takes to read it.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dynaserve.atomic import replace_file
from dynaserve.state import naming_the_variable, state_directory

_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class AuditFiles:
    """The newest reports, at most ``most`` and none older than ``seconds``."""

    most: int
    seconds: float

    @property
    def directory(self) -> Path:
        """Where they are, made with mode 0700 if it was not there."""
        directory = state_directory() / "audits"
        with naming_the_variable(f"directory {directory} cannot be created"):
            directory.mkdir(mode=0o700, exist_ok=True)
        return directory

    def put(self, name: str, report: bytes) -> None:
        """Keep a report, and drop those that are too old or too many."""
        replace_file(self._path(name), report, mode=0o600)
        aged = sorted((_age(path), path) for path in self.directory.glob("*.json"))
        for rank, (age, path) in enumerate(aged):
            if rank >= self.most or age > self.seconds:
                path.unlink(missing_ok=True)

    def get(self, name: str) -> bytes | None:
        """Return a report; None if it is not there, or not any more."""
        if not _ID.fullmatch(name):
            return None
        path = self._path(name)
        with suppress(FileNotFoundError):
            if _age(path) <= self.seconds:
                return path.read_bytes()
        return None

    def _path(self, name: str) -> Path:
        if not _ID.fullmatch(name):
            raise ValueError("an audit's id has 32 hexadecimal digits")
        return self.directory / f"{name}.json"


def _age(path: Path) -> float:
    """Return how many seconds ago a file was written; for ever, if it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
