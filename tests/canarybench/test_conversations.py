"""Files of conversations: what is read, and what is refused without quoting it."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from dynaserve.canarybench.conversations import (
    Conversation,
    read_conversations,
    require_distinct,
    write_conversations,
)

AWKWARD = [
    Conversation("1", "ann", 'commas, "quotes"\nand lines'),
    Conversation("2", "bob", "\u2028 \x85 é İ \0"),
    Conversation("3", "ann", ""),
]


@pytest.mark.parametrize("name", ["talks.jsonl", "talks.csv", "talks.CSV"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    write_conversations(tmp_path / name, AWKWARD)
    assert read_conversations(tmp_path / name) == AWKWARD


def test_the_name_decides_the_format(tmp_path: Path) -> None:
    write_conversations(tmp_path / "a.csv", AWKWARD)
    write_conversations(tmp_path / "a.jsonl", AWKWARD)
    assert (tmp_path / "a.csv").read_text().startswith("id,user,text\n")
    assert json.loads((tmp_path / "a.jsonl").read_text().split("\n")[0])["user"] == "ann"


def test_written_files_are_private(tmp_path: Path) -> None:
    write_conversations(tmp_path / "a.jsonl", AWKWARD)
    assert stat.S_IMODE((tmp_path / "a.jsonl").stat().st_mode) == 0o600


def test_lone_surrogates_survive_json_lines_and_are_refused_by_csv(tmp_path: Path) -> None:
    broken = [Conversation("1", "u", "a \ud800 b")]
    write_conversations(tmp_path / "a.jsonl", broken)
    assert read_conversations(tmp_path / "a.jsonl") == broken
    with pytest.raises(ValueError, match=r"write \.jsonl"):
        write_conversations(tmp_path / "a.csv", broken)


def test_missing_names_come_from_line_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "one"}\n\n{"text": "two", "id": 7}\n')
    assert read_conversations(path) == [
        Conversation("line-000001", "line-000001", "one"),
        Conversation("7", "7", "two"),
    ]


def test_csv_with_other_columns_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,category\nhello,greeting\n")
    assert [conversation.text for conversation in read_conversations(path)] == ["hello"]


def test_a_short_csv_line_lacks_its_last_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,id\nx\n")
    assert read_conversations(path) == [Conversation("line-000002", "line-000002", "x")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"text": "x"}\nsecret', r":2: is not JSON$"),
        ("a.jsonl", b'["secret"]', r":1: is not a JSON object$"),
        ("a.jsonl", b'{"text": "x"}\n{"secret": 1}', r":2: needs a field 'text'"),
        ("a.jsonl", b'{"text": 5}', r":1: needs a field 'text' that is a string$"),
        ("a.jsonl", b'{"text": "x", "id": ["secret"]}', r":1: field 'id' must be"),
        ("a.jsonl", b'{"text": "x", "user": true}', r":1: field 'user' must be"),
        ("a.jsonl", b'{"text": "x", "id": "s"}\n{"text": "y", "id": "s"}', r":2: has the id of"),
        ("a.jsonl", b'{"text": "x", "user": "s"}\n{"text": "y"}', r":2: names no user, but line 1"),
        ("a.jsonl", b'{"text": "y"}\n{"text": "x", "user": "s"}', r":1: names no user, but line 2"),
        ("a.jsonl", b'{"text": "x"}\n\xff', r":2: is not UTF-8$"),
        ("a.jsonl", b"\n", r"holds no conversations$"),
        ("a.jsonl", b"[" * 100_000, r":1: is not JSON$"),
        ("a.csv", b"id,user\n1,2\n", r":1: the header needs a column 'text'$"),
        ("a.csv", b"text\nx,secret\n", r":2: has more columns than the header$"),
        ("a.csv", b'text\n"secret"x\n', r":2: is not CSV"),
        ("a.csv", b"", r":1: the header needs"),
    ],
)
def test_a_bad_line_is_named_and_not_quoted(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_conversations(path)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_repr_shows_no_text() -> None:
    assert "secret" not in repr(Conversation("1", "u", "secret"))


def test_ids_must_differ() -> None:
    require_distinct(AWKWARD)
    with pytest.raises(ValueError, match="conversations 1 and 3 have the same id"):
        require_distinct([*AWKWARD, Conversation("2", "x", "y")])
