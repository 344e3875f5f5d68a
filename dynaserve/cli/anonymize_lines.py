"""Texts in JSON lines: what is read, and the output file that a second run goes on with.

A line of output says by which configuration it was made, so that one file never holds the work
of two. What is withheld has its line too, without its text.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import typer

from dynaserve._version import __version__
from dynaserve.cli.anonymizing import Files, Shown, working
from dynaserve.cli.outcome import user_input
from dynaserve.cli.progress import progress_bar
from dynaserve.rlaa.records import Result
from dynaserve.serving.anonymized import reason, text_of
from dynaserve.serving.anonymizers import pseudonyms_of
from dynaserve.serving.settings import AnonymizationSettings

RESERVED = {"status", "reason", "config"}


def anonymize_lines(
    files: Files, fields: Fields, settings: AnonymizationSettings, shown: Shown
) -> bool:
    """Anonymize the texts of JSON lines that are not done; return whether any is withheld."""
    with ExitStack() as stack:
        with user_input():
            records = read_records(files.read(), files.name, fields)
            output = stack.enter_context(
                opened(files.output, fields, configuration(settings), anew=files.force)
            )
        to_do = [record for record in records if record.id not in output.done]
        console = shown.console(on_terminal=False)
        anew = files.force or files.output is None
        work = stack.enter_context(working(settings, files, console, anew=anew))
        progress = stack.enter_context(progress_bar(quiet=console is not None or shown.as_json))
        for number, record in enumerate(to_do, 1):
            output.add(record, work.run(record.text, record.id))
            progress(number, len(to_do), f"{work.withheld} withheld")
    earlier = [output.done[record.id] for record in records if record.id in output.done]
    withheld = work.withheld + earlier.count(False)
    totals = {
        "texts": len(records),
        "done_before": len(earlier),
        "statuses": dict(sorted(work.statuses.items())),
        "withheld": withheld,
    }
    # Standard output is for the lines, if they go there.
    typer.echo(
        json.dumps(totals) if shown.as_json else prose(totals),
        err=not (shown.as_json and files.output),
    )
    return withheld > 0


@dataclass(frozen=True)
class Record:
    """A text of the input."""

    id: str | int
    text: str = field(repr=False)


@dataclass(frozen=True)
class Fields:
    """What the input calls its fields; the output calls them the same."""

    text: str
    id: str

    def __post_init__(self) -> None:
        if self.text == self.id or {self.text, self.id} & RESERVED:
            raise ValueError(
                f"--field and --id must differ, and be none of {', '.join(sorted(RESERVED))}: "
                "the output has those itself"
            )

    def line(self, record: Record, result: Result, config: str) -> dict[str, Any]:
        """Return what is written of a result."""
        shown = {self.id: record.id, "status": result.status.value, "config": config}
        if result.releasable:
            return {**shown, self.text: text_of(record.text, result)}
        return {**shown, "reason": reason(result)}


def read_records(content: bytes, name: str, fields: Fields) -> tuple[Record, ...]:
    """Return the texts of JSON lines; blank lines are none.

    Raises
    ------
    ValueError
        A line is not what it should be; the message gives its number, and nothing of it.
    """
    records: list[Record] = []
    numbers: dict[str | int, int] = {}
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        document = parse(line, where)
        text, own = document.get(fields.text), document.get(fields.id, number)
        if not isinstance(text, str):
            raise ValueError(f'{where}: has no string "{fields.text}"; name its field with --field')
        if isinstance(own, bool) or not isinstance(own, (str, int)):
            raise ValueError(f'{where}: its "{fields.id}" is neither a string nor a whole number')
        if any("\ud800" <= each <= "\udfff" for each in f"{own}{text}"):
            raise ValueError(f"{where}: holds half a character (a lone surrogate)")
        if own in numbers:
            raise ValueError(
                f"{where}: has the id of line {numbers[own]}; --id names another field"
            )
        numbers[own] = number
        records.append(Record(own, text))
    return tuple(records)


def parse(line: bytes, where: str) -> dict[str, Any]:
    """Return the object on a line."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError(f"{where}: is not JSON") from None
    if not isinstance(document, dict):
        raise ValueError(f"{where}: is not an object")
    return document


@dataclass(frozen=True)
class Output:
    """Lines that are appended one by one, each whole.

    Attributes
    ----------
    file
        Where they go.
    config
        By which configuration they are made.
    done
        What an earlier run wrote: by id, whether there is a text.
    """

    file: IO[bytes]
    fields: Fields
    config: str
    done: Mapping[str | int, bool] = field(default_factory=dict)

    def add(self, record: Record, result: Result) -> None:
        """Append a line; a crash leaves it whole or to be repaired."""
        line = json.dumps(self.fields.line(record, result, self.config), ensure_ascii=False)
        self.file.write(line.encode() + b"\n")
        self.file.flush()


@contextmanager
def opened(path: Path | None, fields: Fields, config: str, *, anew: bool) -> Iterator[Output]:
    """Open a file to go on with, or to start ``anew``; one run at a time may. None is stdout.

    Raises
    ------
    ValueError
        It was not made by this command with this configuration, or another run writes to it.
    """
    if path is None:
        yield Output(sys.stdout.buffer, fields, config)
        return
    with path.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{path}: another run writes to it") from None
        if anew:
            file.truncate(0)
        file.seek(0)
        content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        done = dict(earlier(whole, str(path), fields, config))
        file.truncate(len(whole))  # a crash may have left the last line unfinished
        yield Output(file, fields, config, done)


def earlier(
    content: bytes, name: str, fields: Fields, config: str
) -> Iterator[tuple[str | int, bool]]:
    """Yield what an earlier run wrote: ids, and whether there is a text."""
    for number, line in enumerate(content.splitlines(), 1):
        where = f"{name}, line {number}"
        document = parse(line, where)
        own = document.get(fields.id)
        if not isinstance(own, (str, int)) or not {"status", "config"} <= document.keys():
            raise ValueError(f"{where}: was not written by this command; name another file")
        if document["config"] != config:
            raise ValueError(
                f"{where}: was made with other options, or another model or version; name "
                "another file, or start anew with --force"
            )
        yield own, fields.text in document


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


def prose(totals: Mapping[str, Any]) -> str:
    """Return the totals of a run as one line."""
    parts = [f"{count} {status.replace('_', ' ')}" for status, count in totals["statuses"].items()]
    if totals["done_before"]:
        parts.append(f"{totals['done_before']} done before")
    return f"{totals['texts']} texts: {', '.join(parts)}; {totals['withheld']} withheld"
