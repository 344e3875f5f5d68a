"""Conversations in shards, one by one: id, user and text, as ``dynaserve canary plant`` has them.

An audit of a part of the conversations would say nothing of the others, so there are no rejects:
what is no conversation is told, and whoever reads refuses it. Nothing of a row is in a message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from dynaserve.bulk.errors import InputError
from dynaserve.bulk.ids import is_id, is_whole
from dynaserve.bulk.job import place
from dynaserve.bulk.reading import TOO_LONG, Unreadable, read_lines, read_tables, values_of
from dynaserve.bulk.shards import Format, Shard, Unit, open_parquet
from dynaserve.canarybench.conversations import Conversation

FIELDS = ("id", "user", "text")


def require_columns(shards: Sequence[Shard]) -> None:
    """Refuse Parquet without the columns of conversations.

    Raises
    ------
    ValueError
        Naming the file, and what it has.
    """
    for shard in shards:
        if shard.format is Format.PARQUET:
            names = open_parquet(shard).schema_arrow.names
            for name in FIELDS:
                if names.count(name) != 1:
                    have = ", ".join(names)
                    raise ValueError(f"{shard.name}: needs one column {name!r}; it has {have}")


def read_ids(unit: Unit) -> list[str | None]:
    """Return the ids of a unit; None where there is no conversation."""
    return [None if isinstance(each, str) else each.id for each in _read(unit)]


def read_conversations(unit: Unit, first: int) -> Iterator[Conversation]:
    """Yield the conversations of a unit, in order.

    Parameters
    ----------
    first
        How many rows of its file come before the unit.

    Raises
    ------
    InputError
        A row is none; the message says which, and what it lacks.
    """
    for row, each in enumerate(_read(unit)):
        if isinstance(each, str):
            raise InputError(f"{place(unit, first, row)}: {each}")
        yield each


def _read(unit: Unit) -> Iterator[Conversation | str]:
    """Yield conversations, or what is wrong with a row."""
    if unit.shard.format is Format.JSONL:
        for line in read_lines(unit):
            yield TOO_LONG if line is None else _of_line(line)
        return
    for batch in read_tables(unit, FIELDS):
        for row in zip(*(values_of(batch.column(name)) for name in FIELDS), strict=True):
            yield _of_values(*row)


def _of_line(line: bytes) -> Conversation | str:
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return "is not JSON in UTF-8"
    if not isinstance(row, dict):
        return "is not a JSON object"
    return _of_values(*map(row.get, FIELDS))


def _of_values(own: Any, user: Any, text: Any) -> Conversation | str:
    for name, value in zip(FIELDS, (own, user, text), strict=True):
        if isinstance(value, Unreadable):
            return f"its {name} {value.value}"
    for name, value in (("id", own), ("user", user)):
        if not is_id(value) or value == "":
            return f"needs a field {name!r} that is a string or a whole number"
    if not isinstance(text, str):
        return "needs a field 'text' that is a string"
    if not is_whole(str(own)):
        return "has an id with half a character (a lone surrogate)"
    return Conversation(str(own), str(user), text)
