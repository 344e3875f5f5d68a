"""Conversations in shards: read as they are, and what is none is refused without a word of it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dynaserve.bulk.canary_rows import read_conversations, read_ids, require_columns
from dynaserve.bulk.errors import InputError
from dynaserve.bulk.shards import Unit, cut, find_shards
from dynaserve.canarybench.conversations import Conversation, write_conversations
from dynaserve.canarybench.corpus import generate
from tests.bulk.tables import undecoded

SECRET = "jo.marsh@example.org"
GOOD = {"id": "a", "user": "u", "text": "Hi."}


def units(path: Path, unit_bytes: int = 1 << 20) -> tuple[Unit, ...]:
    return cut(find_shards(path), unit_bytes)


@pytest.mark.parametrize("unit_bytes", [1024, 1 << 20])
def test_what_planting_writes_is_read(tmp_path: Path, unit_bytes: int) -> None:
    talks = [*generate(50), Conversation("odd", "ü", "half \ud800 a sign")]
    write_conversations(tmp_path / "a.jsonl", talks)
    cuts = units(tmp_path / "a.jsonl", unit_bytes)
    assert [each for unit in cuts for each in read_conversations(unit, 0)] == talks
    assert [own for unit in cuts for own in read_ids(unit)] == [each.id for each in talks]


def test_parquet_is_read_and_whole_numbers_are_ids(tmp_path: Path) -> None:
    table = pa.table({"text": ["x", "y"], "user": [7, 8], "id": [1, 2], "more": [0, 0]})
    pq.write_table(table, tmp_path / "a.parquet")
    (unit,) = units(tmp_path / "a.parquet")
    assert [*read_conversations(unit, 0)] == [
        Conversation("1", "7", "x"),
        Conversation("2", "8", "y"),
    ]


@pytest.mark.parametrize(
    ("row", "lacks"),
    [
        ({**GOOD, "id": None}, "needs a field 'id' that is a string or a whole number"),
        ({**GOOD, "id": ""}, "needs a field 'id'"),
        ({**GOOD, "id": True}, "needs a field 'id'"),
        ({**GOOD, "id": "\ud800"}, "has an id with half a character"),
        ({"id": SECRET, "text": SECRET}, "needs a field 'user' that is a string or a whole number"),
        ({**GOOD, "user": [SECRET]}, "needs a field 'user'"),
        ({**GOOD, "text": {"a": SECRET}}, "needs a field 'text' that is a string"),
        ([SECRET], "is not a JSON object"),
        (None, "is not a JSON object"),
    ],
)
def test_a_row_that_is_no_conversation_is_named_and_not_shown(
    tmp_path: Path, row: object, lacks: str
) -> None:
    lines = [json.dumps(each) for each in ({**GOOD, "id": "0"}, row)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    (unit,) = units(tmp_path / "a.jsonl")
    assert read_ids(unit) == ["0", None]
    with pytest.raises(ValueError, match=rf"a\.jsonl, row 12: {lacks}") as caught:
        list(read_conversations(unit, 10))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("line", [b"{", b"\xff\xfe", b'{"id": ' + b"[" * 100_000])
def test_a_line_that_is_no_json_is_named(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(line)
    (unit,) = units(tmp_path / "a.jsonl")
    with pytest.raises(ValueError, match=r"a\.jsonl, row 1: is not JSON in UTF-8"):
        list(read_conversations(unit, 0))


def test_parquet_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    texts = undecoded([b"x", b"\xff"], pa.string())
    table = pa.table({"id": ["a", "b"], "user": ["u", "u"], "text": texts})
    pq.write_table(table, tmp_path / "a.parquet")
    (unit,) = units(tmp_path / "a.parquet")
    assert read_ids(unit) == ["a", None]
    with pytest.raises(InputError, match=r"^a\.parquet, row 2: its text is not UTF-8$"):
        list(read_conversations(unit, 0))


def test_parquet_without_a_column_is_refused_at_once(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a"], "text": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet: needs one column 'user'; it has id, text"):
        require_columns(find_shards(tmp_path))
