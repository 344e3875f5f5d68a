"""Conversations, and the two file formats they come in: JSON lines and CSV.

What people wrote is private: no error and no repr made here may hold a part of it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dynaserve.atomic import replace_file

_FIELDS = ("id", "user", "text")


@dataclass(frozen=True, slots=True)
class Conversation:
    """One single-turn conversation.

    Examples
    --------
    >>> Conversation("c1", "u1", "My parcel is late.")
    Conversation(id='c1', user='u1')
    """

    id: str
    user: str
    text: str = field(repr=False)


def read_conversations(path: str | Path) -> list[Conversation]:
    """Read conversations: CSV with a header if the name ends in ``.csv``, else JSON lines.

    Only ``text`` is needed. A conversation without an ``id`` gets one from its line number. If no
    line of the file names a ``user``, every conversation counts as a user of its own; a file
    that names only some is refused, since counts of distinct users would be guesses.

    Raises
    ------
    ValueError
        If a line is not a conversation or repeats an id, naming the line, never what it says.
    OSError
        If the file cannot be read.
    """
    path = Path(path)
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}:{line}: is not UTF-8") from None
    rows = _csv_rows if path.suffix.lower() == ".csv" else _json_rows
    found: dict[str, Conversation] = {}
    lacking = naming = 0
    for line, row in rows(path, content):
        if not isinstance(row.get("text"), str):
            raise ValueError(f"{path}:{line}: needs a field 'text' that is a string")
        id_ = _name(path, line, row, "id") or f"line-{line:06d}"
        user = _name(path, line, row, "user")
        lacking, naming = (lacking, line) if user else (line, naming)
        if lacking and naming:
            raise ValueError(f"{path}:{lacking}: names no user, but line {naming} does")
        if id_ in found:
            raise ValueError(f"{path}:{line}: has the id of an earlier line")
        found[id_] = Conversation(id_, user or id_, row["text"])
    if not found:
        raise ValueError(f"{path}: holds no conversations")
    return list(found.values())


def write_conversations(path: str | Path, conversations: Iterable[Conversation]) -> None:
    """Write what `read_conversations` reads, in the format that the name asks for, mode 0600.

    Raises
    ------
    ValueError
        If CSV is asked for and a text has a lone surrogate, which UTF-8 cannot hold.
    """
    path = Path(path)
    rows = [{name: getattr(item, name) for name in _FIELDS} for item in conversations]
    if path.suffix.lower() == ".csv":
        buffer = io.StringIO(newline="")
        writer = csv.DictWriter(buffer, _FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        content = buffer.getvalue()
    else:
        content = "".join(json.dumps(row) + "\n" for row in rows)
    try:
        encoded = content.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{path}: CSV cannot hold lone surrogates; write .jsonl") from None
    replace_file(path, encoded, mode=0o600)


def require_distinct(conversations: Sequence[Conversation]) -> None:
    """Refuse conversations of which two share an id.

    Raises
    ------
    ValueError
        Naming the positions of the two.
    """
    seen: dict[str, int] = {}
    for index, conversation in enumerate(conversations):
        if seen.setdefault(conversation.id, index) != index:
            first = seen[conversation.id]
            raise ValueError(f"conversations {first} and {index} have the same id")


def _name(path: Path, line: int, row: dict[str, Any], name: str) -> str:
    """Return an id as a string; the empty one if there is none."""
    value = row.get(name)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"{path}:{line}: field {name!r} must be a string or an integer")
    return str(value)


def _json_rows(path: Path, content: str) -> Iterator[tuple[int, dict[str, Any]]]:
    # Not splitlines(): it also breaks at characters that JSON strings may hold.
    for line, source in enumerate(content.split("\n"), start=1):
        if not source.strip():
            continue
        try:
            row = json.loads(source)
        except (json.JSONDecodeError, RecursionError):
            raise ValueError(f"{path}:{line}: is not JSON") from None
        if not isinstance(row, dict):
            raise ValueError(f"{path}:{line}: is not a JSON object")
        yield line, row


def _csv_rows(path: Path, content: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(content, newline=""), strict=True)
    last = 1
    try:
        if "text" not in (reader.fieldnames or ()):
            raise ValueError(f"{path}:1: the header needs a column 'text'")
        for row in reader:
            line, last = last + 1, reader.line_num
            if None in row:
                raise ValueError(f"{path}:{line}: has more columns than the header")
            yield line, row
    except csv.Error as error:
        raise ValueError(f"{path}:{last + 1}: is not CSV: {error}") from None
