"""Texts in JSON lines: what is read, and what a line says of what came of one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from dynaserve.bulk.ids import is_whole
from dynaserve.rlaa.records import Result
from dynaserve.serving.anonymized import text_of
from dynaserve.serving.single_keys import TwiceError, single_keys

RESERVED = {"status", "reason", "config", "digest"}


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

    def line(self, record: Record, result: Result) -> dict[str, Any]:
        """Return what is written of a result."""
        shown = {self.id: record.id, "status": result.status.value}
        if result.releasable:
            return {**shown, self.text: text_of(record.text, result)}
        return {**shown, "reason": result.reason}


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
        if not is_whole(f"{own}{text}"):
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
        document = json.loads(line.decode("utf-8-sig"), object_pairs_hook=single_keys)
    except TwiceError:
        raise ValueError(f"{where}: an object holds a key twice") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{where}: is not JSON in UTF-8") from None
    if not isinstance(document, dict):
        raise ValueError(f"{where}: is not an object")
    return document
