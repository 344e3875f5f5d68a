"""The directory that a run writes to: parts that are whole, and a ledger of what they are made of.

A part is done when it is there under its name, so nothing has to be kept in step with the files.
The ledger says of which input and by which configuration they are; a later run goes on with the
same of both, or not at all. One run at a time writes.
"""

from __future__ import annotations

import fcntl
import json
import re
import socket
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dynaserve._version import __version__
from dynaserve.atomic import replace_file, replace_with
from dynaserve.bulk.errors import StoppedError
from dynaserve.bulk.fingerprints import Fingerprint

LEDGER = "_ledger.json"
REJECTS = "_rejects.jsonl"
"""Readers of directories of data leave out names with an underscore before them."""
_FORMAT = "dynaserve-bulk"
_ELSEWHERE = "name another directory"
LOCK, _PIECES = ".lock", ".rejects"
_PART = "part-"
_STAGED = re.compile(r"\.(part-\d{9}\.\w+|_ledger\.json|_rejects\.jsonl)\.[0-9a-f]{16}")
"""What `replace_file` calls our own files while they are written."""
_PRIVATE = 0o600
_HEAD = 256
"""Bytes at the start of a ledger that name its run."""


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
    run
        A name that no other ledger has.
    """

    command: str
    configuration: Mapping[str, Any]
    input: tuple[Fingerprint, ...]
    rows: tuple[int, ...]
    version: str = __version__
    run: str = field(default_factory=lambda: uuid.uuid4().hex)

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
    run
        `Ledger.run` of the ledger that parts belong to; None before there is one.
    """

    path: Path
    suffix: str
    run: str | None = None

    def put(self, number: int, content: bytes, rejects: Sequence[bytes]) -> None:
        """Write a part; its rejects come first, because it is done once it is there.

        Raises
        ------
        OSError
            Nothing of the part is there then.
        StoppedError
            The directory is another one, or another run's by now.
        """
        if self.run is not None and not self._is_of(self.run):
            raise StoppedError(
                f"the worker on {socket.gethostname()} does not find its run in {self.path}: "
                "either another one has begun there since, or it sees another directory; workers "
                "have to see the same one under the same path"
            )
        if rejects:
            (self.path / _PIECES).mkdir(exist_ok=True)
            replace_file(self._piece(number), b"".join(rejects), mode=_PRIVATE)
        else:
            self._piece(number).unlink(missing_ok=True)  # of a run that was killed in between
        replace_file(self.path / self._name(number), content)

    def _is_of(self, run: str) -> bool:
        with suppress(FileNotFoundError), (self.path / LEDGER).open("rb") as file:
            return run.encode() in file.read(_HEAD)
        return False

    def done(self, units: int) -> frozenset[int]:
        """Return the numbers of the parts that are there.

        Raises
        ------
        ValueError
            There are parts of something else than these units, which a reader would take for ours.
        """
        numbers = {self._name(number): number for number in range(units)}
        found = {each.name for each in self.path.iterdir() if each.name.startswith(_PART)}
        if strays := sorted(found - numbers.keys()):
            raise ValueError(f"{self.path}: {strays[0]} is no part of this run; move it elsewhere")
        return frozenset(numbers[name] for name in found)

    def ledger(self) -> Ledger | None:
        """Return what the run here was begun with; None if there is none.

        Raises
        ------
        ValueError
            The directory holds other files, or a ledger in another format.
        """
        path = self.path / LEDGER
        if not path.exists():
            if others := sorted(each.name for each in self._others()):
                raise ValueError(f"{self.path}: is not empty: holds {others[0]}; {_ELSEWHERE}")
            return None
        try:
            told = json.loads(path.read_bytes())
            if told.pop("format") != _FORMAT:
                raise ValueError("another format")
            files = tuple(Fingerprint(**each) for each in told.pop("input"))
            return Ledger(input=files, rows=tuple(told.pop("rows")), run=told.pop("run"), **told)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(
                f"{self.path}: {LEDGER} was not written by this program; {_ELSEWHERE}"
            ) from None

    def begin(self, ledger: Ledger) -> None:
        """Write the ledger, for its owner alone: who has its digests can try out inputs."""
        told = json.dumps({"format": _FORMAT, "run": ledger.run, **asdict(ledger)}, indent=1)
        replace_file(self.path / LEDGER, told.encode() + b"\n", mode=_PRIVATE)

    def of(self, ledger: Ledger) -> Output:
        """Return the same, to which nobody writes once the ledger there is another."""
        return replace(self, run=ledger.run)

    def lacking(self, receipts: Mapping[int, int]) -> list[int]:
        """Return which parts are not here as they were written, by how many rejects each has."""
        parts = {each.name for each in self.path.glob(f"{_PART}*")}
        pieces = {each.name for each in self.path.glob(f"{_PIECES}/{_PART}*")}
        return sorted(
            number
            for number, rejects in receipts.items()
            if self._name(number) not in parts
            or (
                (rejects or self._piece(number).name in pieces)
                and _lines_of(self._piece(number)) != rejects
            )
        )

    def withdraw(self, parts: Sequence[int]) -> None:
        """Remove parts, so that a later run makes them anew."""
        for number in parts:
            (self.path / self._name(number)).unlink(missing_ok=True)

    def gather_rejects(self, units: int) -> int:
        """Write one file of the rejects of all parts, in order, and return how many there are.

        Without any there is no file.
        """
        pieces = [piece for number in range(units) if (piece := self._piece(number)).exists()]
        if not pieces:
            return 0
        replace_with(self.path / REJECTS, (piece.read_bytes() for piece in pieces), mode=_PRIVATE)
        return sum(map(_lines_of, pieces))

    def clear(self) -> None:
        """Remove what crashes left of files that were being written."""
        for directory in (self.path, self.path / _PIECES):
            for left in directory.glob(".*"):
                if _STAGED.fullmatch(left.name):
                    left.unlink(missing_ok=True)

    def _others(self) -> Iterator[Path]:
        ours = {LOCK, _PIECES}
        return (
            each
            for each in self.path.iterdir()
            if each.name not in ours and not _STAGED.fullmatch(each.name)
        )

    def _name(self, number: int) -> str:
        return f"{self._stem(number)}.{self.suffix}"

    def _piece(self, number: int) -> Path:
        return self.path / _PIECES / f"{self._stem(number)}.jsonl"

    @staticmethod
    def _stem(number: int) -> str:
        return f"{_PART}{number:09d}"  # in the order of names, however many


def _lines_of(piece: Path) -> int:
    with suppress(FileNotFoundError):
        return piece.read_bytes().count(b"\n")
    return 0


@contextmanager
def opened(path: Path, suffix: str) -> Iterator[Output]:
    """Open a directory for one run; it is made if it is not there.

    Raises
    ------
    ValueError
        Another run writes to it, it is no directory, or it is somebody else's; then nothing in it
        is touched.
    """
    path = path.absolute()
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path}: is a file; name a directory to write to")
    path.mkdir(parents=True, exist_ok=True)
    output = Output(path, suffix)
    output.ledger()
    with locked(path):
        output.ledger()  # again: another run may have begun before the lock
        output.clear()
        try:
            yield output
        except BaseException:
            with suppress(OSError):  # why it ended matters more
                output.clear()
            raise
        output.clear()  # of workers that were killed, or could not be told


@contextmanager
def locked(path: Path, within: str = "") -> Iterator[None]:
    """Keep other runs out of a directory.

    Parameters
    ----------
    within
        A directory in it that has the lock.

    Raises
    ------
    ValueError
        Another run writes to it.
    """
    with (path / within / LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{path}: another run writes to it") from None
        yield
