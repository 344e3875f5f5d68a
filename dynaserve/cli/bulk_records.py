"""Texts in shards of JSON lines or Parquet: what is read of a unit, and how results are written.

What is no text with an id becomes a reject of its own and does not stop the others. Nothing of a
row is in a message.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from dynaserve.bulk.ids import is_id, is_whole
from dynaserve.bulk.job import Reject, place
from dynaserve.bulk.reading import TOO_LONG, Unreadable, read_lines, read_tables, values_of
from dynaserve.bulk.shards import Format, Shard, Unit, open_parquet, require_arrow
from dynaserve.cli.anonymize_records import Fields, Record, parse

_TRIED = 10
"""Rows at the start of which one at least has to be a text."""


def read_unit(unit: Unit, first: int, fields: Fields) -> Iterator[Record | Reject]:
    """Yield the texts of a unit, in order, and rejects in place of what are none.

    Parameters
    ----------
    first
        How many rows of its file come before the unit.
    """
    rows = _lines(unit) if unit.shard.format is Format.JSONL else _table_rows(unit, fields)
    for row, read in enumerate(rows):
        document = {} if isinstance(read, ValueError) else read
        own, text = document.get(fields.id), document.get(fields.text)
        reason = str(read) if isinstance(read, ValueError) else _fault(own, text, fields)
        if reason:
            known = own if is_id(own) else None
            yield Reject(known, place(unit, first, row), "invalid", reason)
        else:
            yield Record(own, text)  # type: ignore[arg-type] # which _fault has looked at


def _lines(unit: Unit) -> Iterator[Mapping[str, Any] | ValueError]:
    """Yield what lines hold, or what is wrong with them: one bad row stops no other."""
    for line in read_lines(unit):
        if line is None:
            yield ValueError(f"the line: {TOO_LONG}")
            continue
        try:
            yield parse(line, "the line")
        except ValueError as error:
            yield error


def _table_rows(unit: Unit, fields: Fields) -> Iterator[Mapping[str, Any]]:
    for batch in read_tables(unit, [fields.id, fields.text]):
        columns = (values_of(batch.column(name)) for name in (fields.id, fields.text))
        for own, text in zip(*columns, strict=True):
            yield {fields.id: own, fields.text: text}


def _fault(own: object, text: object, fields: Fields) -> str:
    """Return why a row is no text with an id; empty if it is."""
    for name, value in ((fields.id, own), (fields.text, text)):
        if isinstance(value, Unreadable):
            return f'its "{name}" {value.value}'
    if not is_id(own):
        return f'"{fields.id}" is neither a string nor a whole number'
    if not isinstance(text, str):
        return f'has no string "{fields.text}"'
    if not is_whole(f"{own}{text}"):
        return "holds half a character (a lone surrogate)"
    return ""


def require_texts(shards: Sequence[Shard], units: Sequence[Unit], fields: Fields) -> None:
    """Find out before a run whether there are texts where they are said to be.

    Raises
    ------
    ValueError
        None of the first rows is one, or a Parquet file lacks a column.
    """
    for shard in shards:
        if shard.format is Format.PARQUET:
            _require_columns(shard, fields)
    read = list(islice(read_unit(units[0], 0, fields), _TRIED)) if units else []
    rejects = [each for each in read if isinstance(each, Reject)]
    if read and len(rejects) == len(read):
        raise ValueError(
            f"{rejects[0].place}: {rejects[0].reason}; name the fields with --field and --id"
        )


def _require_columns(shard: Shard, fields: Fields) -> None:
    schema, types = open_parquet(shard).schema_arrow, require_arrow().types
    for name, option in ((fields.text, "--field"), (fields.id, "--id")):
        if schema.names.count(name) != 1:
            have = ", ".join(schema.names)
            raise ValueError(f"{shard.name}: needs one column {name!r} ({option}); it has {have}")
    kind = schema.field(fields.id).type
    if not (types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind)):
        raise ValueError(f"{shard.name}: column {fields.id!r} must hold strings or whole numbers")


def written(unit: Unit, lines: Sequence[Mapping[str, Any]], fields: Fields) -> bytes:
    """Return a part of the output, in the format of the input, with id, status and text."""
    if unit.shard.format is Format.JSONL:
        return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)
    arrow = require_arrow()
    own = open_parquet(unit.shard).schema_arrow.field(fields.id).type
    kinds = {fields.id: own, "status": arrow.string(), fields.text: arrow.string()}
    table = arrow.Table.from_pylist(list(lines), arrow.schema(list(kinds.items())))
    sink = io.BytesIO()
    arrow.parquet.write_table(table, sink)
    return sink.getvalue()
