from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from enum import Enum

import numpy as np
import pytest
from pydantic import BaseModel

from dynaserve.canarybench.serialized import NothingToCheck, ReleaseError, read_release


def texts(release, form="auto"):
    return [leaf.text for leaf in read_release(release, form).leaves]


def test_keys_values_and_numbers_are_all_read():
    release = b'{"title": "A", "n": [4155550123, 1.50, true, null], "deep": {"b@x.org": "c"}}'
    leaves = [text for text in texts(release) if text]
    assert leaves == ["title", "A", "n", "4155550123", "1.50", "true", "deep", "b@x.org", "c"]


def test_an_object_reads_like_its_json():
    release = {"title": "A", "n": [4155550123, 1.5, True, None], "deep": {"b@x.org": ("c", b"d")}}
    as_json = json.dumps({**release, "deep": {"b@x.org": ["c", "d"]}})
    assert texts(release) == texts(as_json)


def test_a_string_of_another_type_reads_as_json_writes_it():
    class Names(str, Enum):
        ADA = "ada@x.org"

    assert texts({"a": Names.ADA}) == texts(json.dumps({"a": Names.ADA})) == ["a", "ada@x.org"]


def test_a_member_that_a_parser_would_drop_is_read():
    assert texts(b'{"a": "leak", "a": "safe"}') == ["a", "leak", "a", "safe"]


def test_escapes_are_undone():
    assert texts(rb'["ada\u0040x.org", "\ud83d\ude00", "\ud800"]') == ["ada@x.org", "😀", "\ud800"]


def test_json_lines_are_a_list():
    assert texts(b'{"a": 1}\n\n{"a": "2"}\n') == ["a", "1", "a", "2"]
    assert texts('"x"\n"y"', "jsonl") == ["x", "y"]


def test_text_is_read_by_the_line():
    assert texts("one\ntwo\r\n") == ["one", "two\r", ""]
    assert texts('{"a": 1}', "text") == ['{"a": 1}']


@pytest.mark.parametrize("text", ["[a link](x)", "[2024] started", "42", "plain"])
def test_what_is_not_meant_as_json_is_text(text):
    assert read_release(text).is_text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marked_encodings_are_read(encoding):
    assert texts('{"a": "é"}'.encode(encoding)) == ["a", "é"]


def test_the_path_leads_to_the_leaf():
    leaf = read_release({"a": [{"b": "x"}]}).leaves[-1]
    assert [(step.position, step.name) for step in leaf.path] == [(0, "a"), (0, None), (0, "b")]


def test_what_programs_hold_is_read_as_they_would_publish_it():
    class Model(BaseModel):
        a: str

    @dataclass
    class Data:
        b: str

    release = [Model(a="1"), Data("2"), np.array(["3"]), np.float64(4.5), date(2024, 5, 6), {7}]
    found = [text for text in texts(release) if text not in "ab"]
    assert found == ["1", "2", "3", "4.5", "2024-05-06", "7"]


@pytest.mark.parametrize(
    ("release", "form", "message"),
    [
        (b'{"a": "b', "auto", "not whole JSON: line 1, column 7"),
        (b'[{"a": 1}, ', "auto", "not whole JSON"),
        (b'{"a": 1} {"b"', "auto", "not whole JSON lines: line 1"),
        (b'{"a": 1}\n{"a": "x', "auto", "not whole JSON lines: line 2, column 7"),
        (b"secret words", "json", "not whole JSON: line 1, column 1"),
        (b'{"a": 1}\n{"a": 2}', "json", "not whole JSON: line 2, column 1"),
        (b"secret \xff words", "auto", "not UTF-8 text: byte 7"),
        (b"\xff\xfea", "auto", "not UTF-16 text"),
        (b"[" * 100_000, "auto", "nested too deeply|nested more than"),
        (b"[" * 250 + b'"secret"' + b"]" * 250, "auto", "nested more than 200 deep"),
        ([object()], "auto", "holds a object"),
        ({"a": b"\x1f\x8b secret"}, "auto", "not UTF-8 text: byte 1"),
    ],
)
def test_what_cannot_be_read_whole_is_an_error_that_quotes_nothing(release, form, message):
    with pytest.raises(ReleaseError, match=message) as error:
        read_release(release, form)
    assert "secret" not in str(error.value)


def test_a_document_that_holds_itself_is_an_error():
    release = []
    release.append(release)
    with pytest.raises(ReleaseError, match="or holds itself"):
        read_release(release)


@pytest.mark.parametrize("release", [b"", "", " \n\t", "\ufeff", None, [], {}, [None, ""], b"[]"])
def test_an_empty_release_is_nothing_to_check(release):
    with pytest.raises(NothingToCheck, match="empty"):
        read_release(release)


def test_no_repr_holds_a_text():
    release = read_release({"secret": "secret"})
    assert "secret" not in repr(release) + repr(release.leaves)
