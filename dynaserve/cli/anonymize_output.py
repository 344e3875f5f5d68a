"""The output file of JSON lines that a second run goes on with.

A line says by which configuration it was made, so that one file never holds the work of two, and
of which text, as a keyed hash: a text that has changed is not taken for done, and whoever reads
the output cannot use the hash to test guesses at what stood there. What is withheld has its line
too, without its text. Nothing but what an own line starts with is ever cut off a file. What is no
plain file, such as a pipe, is written to and never read.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import RawIOBase
from pathlib import Path
from typing import Any

from dynaserve._version import __version__
from dynaserve.cli.anonymize_records import Fields, Record, parse
from dynaserve.cli.anonymize_writing import Write, appending
from dynaserve.keyfile import KeyFile
from dynaserve.rlaa.records import Result
from dynaserve.serving.anonymizers import pseudonyms_of
from dynaserve.serving.settings import AnonymizationSettings
from dynaserve.state import state_directory

GOES_ON = "what is done is kept: the same command goes on with it"


@dataclass(frozen=True)
class Making:
    """By what lines are made.

    Attributes
    ----------
    fields
        What they call their fields.
    config
        Digest of the configuration.
    key
        Of the hashes of texts.
    """

    fields: Fields
    config: str
    key: bytes = field(repr=False)

    @property
    def opening(self) -> bytes:
        """What every line starts with."""
        return json.dumps({"config": self.config})[:-1].encode()

    def line(self, record: Record, result: Result) -> dict[str, Any]:
        """Return what is written of a result."""
        made = {"config": self.config, "digest": self.digest(record)}
        return {**made, **self.fields.line(record, result)}

    def digest(self, record: Record) -> str:
        """Return the keyed hash of a text and its id; equal texts have different ones."""
        content = json.dumps([record.id, record.text]).encode()
        return hashlib.blake2b(content, key=self.key, digest_size=16).hexdigest()


@dataclass(frozen=True)
class Earlier:
    """What an earlier run wrote of a text: its keyed hash, and whether it could be published."""

    digest: str
    released: bool


@dataclass(frozen=True)
class Output:
    """Lines that are appended one by one, each whole.

    Attributes
    ----------
    write
        Takes them to where they go.
    line
        Makes one, of a text and what came of it.
    done
        What an earlier run wrote, by id.
    clear
        Takes away what is not gone on with; to be called once nothing else can go wrong.
    """

    write: Write
    line: Callable[[Record, Result], dict[str, Any]]
    done: Mapping[str | int, Earlier] = field(default_factory=dict)
    clear: Callable[[], object] = lambda: None

    def add(self, record: Record, result: Result) -> None:
        """Append a line; a crash leaves it whole or to be repaired."""
        line = json.dumps(self.line(record, result), ensure_ascii=False)
        self.write(line.encode() + b"\n")


@contextmanager
def opened(
    path: Path, making: Making, records: Iterable[Record], *, anew: bool
) -> Iterator[Output]:
    """Open a file to go on with, or to start ``anew``; one run at a time may.

    What is there stays until `Output.clear`.

    Raises
    ------
    ValueError
        It was not made by this command with this configuration and of these texts, or another
        run writes to it. The file stays as it was.
    """
    if path.exists() and not path.is_file():
        with path.open("wb", buffering=0) as stream:
            yield Output(appending(stream, path, "name a file"), making.line)
        return
    with path.open("a+b", buffering=0) as file:
        lock(file, path)
        whole, rest = (b"", b"") if anew else parted(file)
        done = dict(earlier(whole, str(path), making))
        require_own(rest, making.opening, path)
        require_unchanged(records, done, making, path)
        clear = partial(file.truncate, len(whole))
        yield Output(appending(file, path, GOES_ON), making.line, done, clear)


def lock(file: RawIOBase, path: Path) -> None:
    """Keep other runs away from a file for as long as it is open."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(f"{path}: another run writes to it") from None


def parted(file: RawIOBase) -> tuple[bytes, bytes]:
    """Return the whole lines of a file, and what comes after them."""
    file.seek(0)
    content = file.read()
    end = content.rfind(b"\n") + 1
    return content[:end], content[end:]


def require_own(line: bytes, opening: bytes, path: Path) -> None:
    """Refuse a line that is neither one of ours nor the beginning of one that a crash left."""
    if not (line.startswith(opening) or opening.startswith(line)):
        raise ValueError(
            f"{path}: was not written by this command, or with other options; name another file, "
            "or start anew with --force"
        )


def earlier(content: bytes, name: str, making: Making) -> Iterator[tuple[str | int, Earlier]]:
    """Yield what an earlier run wrote, by id."""
    for number, line in enumerate(content.splitlines(), 1):
        where = f"{name}, line {number}"
        document = parse(line, where)
        own = document.get(making.fields.id)
        named = {"status", "config", "digest"} <= document.keys()
        if not isinstance(own, (str, int)) or not named:
            raise ValueError(f"{where}: was not written by this command; name another file")
        if document["config"] != making.config:
            raise ValueError(
                f"{where}: was made with other options, or another model or version; name "
                "another file, or start anew with --force"
            )
        yield own, Earlier(document["digest"], making.fields.text in document)


def require_unchanged(
    records: Iterable[Record], done: Mapping[str | int, Earlier], making: Making, path: Path
) -> None:
    """Refuse to take a text for done that is another one than what was done."""
    for record in records:
        before = done.get(record.id)
        if before is not None and before.digest != making.digest(record):
            raise ValueError(
                f"{path}: the text with id {record.id!r} is another one now than when it was "
                "anonymized, or the key in the state directory is another one; name another "
                "file, or start anew with --force"
            )


def making_of(settings: AnonymizationSettings, fields: Fields) -> Making:
    """Return by what lines are made; the key of their hashes lies in the state directory.

    Raises
    ------
    ValueError, OSError
        A key cannot be read or made.
    """
    key = KeyFile(
        state_directory() / "anonymize.key",
        "key of the anonymizer",
        "choose another place by DYNASERVE_STATE_DIR",
    )
    return Making(fields, configuration(settings), key.read())


def configuration(settings: AnonymizationSettings) -> str:
    """Return a digest of all that an output depends on beside its text."""
    model = Path(settings.model) if settings.model else None
    stat = model.stat() if model is not None and model.is_file() else None
    key = b""
    if settings.consistent is not None:
        pseudonyms_of(Path(settings.consistent))  # makes the key if it is not there
        key = Path(settings.consistent).read_bytes()
    told = [
        __version__,
        settings.model_dump(exclude={"model", "consistent", "allow_remote"}),
        model.name if stat and model else settings.model,
        [stat.st_size, stat.st_mtime_ns] if stat else None,
    ]
    text = json.dumps(told, sort_keys=True).encode()
    # Keyed, so that it does not tell whoever guesses the key's file that they are right.
    return hashlib.blake2b(text, key=hashlib.blake2b(key).digest(), digest_size=8).hexdigest()
