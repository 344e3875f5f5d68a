"""The directory that a run writes to: parts that are whole, and a ledger of what they are made of.

A part is done when it is there under its name, so nothing has to be kept in step with the files.
The ledger says of which input and by which configuration they are; a later run goes on with the
same of both, or not at all. One run at a time writes.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dynaserve._version import __version__
from dynaserve.atomic import replace_file
from dynaserve.bulk.shards import Fingerprint

LEDGER = "_ledger.json"
REJECTS = "_rejects.jsonl"
"""Readers of directories of data leave out names with an underscore before them."""
_FORMAT = "dynaserve-bulk"
_LOCK, _PIECES = ".lock", ".rejects"
_PART = re.compile(r"part-(\d{6,})\.\w+")
_PRIVATE = 0o600


@dataclass(frozen=True)
class Ledger:
    """What a run is made of.

    Attributes
    ----------
    command
        What was done.
    configuration
        How; no secret.
    input
        The files it was done with.
    rows
        Of each unit.
    version
        Of this program.
    """

    command: str
    configuration: Mapping[str, Any]
    input: tuple[Fingerprint, ...]
    rows: tuple[int, ...]
    version: str = __version__

    def require_same(
        self, command: str, configuration: Mapping[str, Any], files: Sequence[Fingerprint]
    ) -> None:
        """Refuse to go on with other work than this one, naming all that is other.

        Raises
        ------
        ValueError
            Something has changed.
        """
        was = {"command": self.command, "version": self.version, **self.configuration}
        now = {"command": command, "version": __version__, **configuration}
        changes = [
            f"{name} was {was.get(name)!r} and is {now.get(name)!r}"
            for name in {**was, **now}
            if was.get(name) != now.get(name)
        ]
        before, after = ({each.name: each for each in some} for some in (self.input, files))
        changes += [
            f"{name} {_what_happened(before.get(name), after.get(name))}"
            for name in sorted({*before, *after})
            if before.get(name) != after.get(name)
        ]
        if changes:
            raise ValueError(
                f"was begun with something else: {'; '.join(changes)}. Name another directory, "
                "or delete this one"
            )


def _what_happened(before: Fingerprint | None, after: Fingerprint | None) -> str:
    if before is None:
        return "is new"
    return "is gone" if after is None else "has another content"


@dataclass(frozen=True)
class Output:
    """Where the parts of a run go.

    Attributes
    ----------
    path
        The directory, absolute.
    suffix
        What names of parts end with.
    """

    path: Path
    suffix: str

    def put(self, number: int, content: bytes, rejects: Sequence[bytes]) -> None:
        """Write a part; its rejects come first, because it is done once it is there.

        Raises
        ------
        OSError
            Nothing of the part is there then.
        """
        if rejects:
            (self.path / _PIECES).mkdir(exist_ok=True)
            replace_file(self._piece(number), b"".join(rejects), mode=_PRIVATE)
        else:
            self._piece(number).unlink(missing_ok=True)  # of a run that was killed in between
        replace_file(self.path / f"{self._stem(number)}.{self.suffix}", content)

    def done(self) -> frozenset[int]:
        """Return the numbers of the parts that are there."""
        found = (_PART.fullmatch(each.name) for each in self.path.iterdir())
        return frozenset(int(match[1]) for match in found if match)

    def ledger(self) -> Ledger | None:
        """Return what the run here was begun with; None if there is none.

        Raises
        ------
        ValueError
            There are files of somebody else, or the ledger is none of ours.
        """
        path = self.path / LEDGER
        if not path.exists():
            if others := sorted(each.name for each in self._others()):
                raise ValueError(f"is not empty: holds {others[0]}; name another directory")
            return None
        try:
            told = json.loads(path.read_bytes())
            if told.pop("format") != _FORMAT:
                raise ValueError("another format")
            files = tuple(Fingerprint(**each) for each in told.pop("input"))
            return Ledger(input=files, rows=tuple(told.pop("rows")), **told)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{LEDGER} was not written by this program") from None

    def begin(self, ledger: Ledger) -> None:
        """Write the ledger."""
        told = json.dumps({"format": _FORMAT, **asdict(ledger)}, indent=1)
        replace_file(self.path / LEDGER, told.encode() + b"\n")

    def gather_rejects(self) -> int:
        """Write one file of the rejects of all parts, in order, and return how many there are.

        Without any there is no file.
        """
        pieces = [
            piece for number in sorted(self.done()) if (piece := self._piece(number)).exists()
        ]
        if not pieces:
            return 0
        count = 0
        staged = self.path / f".{REJECTS}"
        with os.fdopen(os.open(staged, _WRITE, _PRIVATE), "wb") as file:
            for piece in pieces:
                content = piece.read_bytes()
                count += content.count(b"\n")
                file.write(content)
        staged.replace(self.path / REJECTS)
        return count

    def clear(self) -> None:
        """Remove what a crash left of files that were being written."""
        for directory in (self.path, self.path / _PIECES):
            for left in directory.glob(".*part-*"):
                left.unlink(missing_ok=True)

    def _others(self) -> Iterator[Path]:
        return (each for each in self.path.iterdir() if each.name not in {_LOCK, _PIECES})

    def _piece(self, number: int) -> Path:
        return self.path / _PIECES / f"{self._stem(number)}.jsonl"

    @staticmethod
    def _stem(number: int) -> str:
        return f"part-{number:06d}"


_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


@contextmanager
def opened(path: Path, suffix: str) -> Iterator[Output]:
    """Open a directory for one run; it is made if it is not there.

    Raises
    ------
    ValueError
        Another run writes to it, or it is no directory.
    """
    path = path.absolute()
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path}: is a file; name a directory to write to")
    path.mkdir(parents=True, exist_ok=True)
    with (path / _LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{path}: another run writes to it") from None
        output = Output(path, suffix)
        output.clear()
        yield output
