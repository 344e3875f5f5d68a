from __future__ import annotations

import json
from typing import Any

import pytest

from dynaserve.serving.refused import RefusedError
from dynaserve.serving.settings import AnonymizerSettings
from dynaserve.serving.texts import Asked, read_items, read_text

SECRET = "jo.brandt42@example.com"
SETTINGS = AnonymizerSettings()


def test_a_text_is_read_to_the_last_character() -> None:
    text = "\ufeff🙂\0\r\n\u2028 I am 31\u0301."
    body = json.dumps({"text": text, "attributes": ["age"], "mode": "edit"}).encode()
    assert read_text(body, SETTINGS) == Asked(text, ("age",), "edit")
    assert read_text(b'{"text": ""}', SETTINGS) == Asked("")


@pytest.mark.parametrize(
    ("read", "body", "what"),
    [
        (read_text, '{"text": "a", "text": "b"}', '"text" stands'),
        (read_text, '{"text": "a", "te\\u0078t": "b"}', '"text" stands'),
        (read_text, '{"text": "a", "mode": "edit", "mode": "edit"}', '"mode" stands'),
        (read_text, f'{{"{SECRET}": 1, "{SECRET}": 2}}', "a key stands"),
        (read_text, '{"text": {"a": 1, "a": 1}}', "a key stands"),
        (read_items, '{"items": [], "items": [{"text": "a"}]}', '"items" stands'),
        (read_items, '{"items": [{"text": "a"}, {"text": "b", "text": ""}]}', '"text" stands'),
    ],
)
def test_which_of_two_texts_is_meant_is_not_guessed(read: Any, body: str, what: str) -> None:
    with pytest.raises(RefusedError) as refused:
        read(body.encode(), SETTINGS)
    assert str(refused.value) == f"{what} twice in one object; send it once"
    assert refused.value.status == 400


def test_a_byte_order_mark_is_no_part_of_a_body() -> None:
    mark, body = b"\xef\xbb\xbf", b'{"text": "a"}'
    assert read_text(mark + body, SETTINGS) == Asked("a")
    assert read_items(bytearray(mark + b'{"items": [' + body + b"]}"), SETTINGS) == (Asked("a"),)
    for wrong in (mark * 2 + body, mark, body + mark):
        with pytest.raises(RefusedError, match="malformed JSON"):
            read_text(wrong, SETTINGS)


@pytest.mark.parametrize("depth", [900, 1000, 1023, 5000, 100_000])
def test_json_that_is_nested_deep_is_refused(depth: int) -> None:
    with pytest.raises(RefusedError):
        read_text(b'{"text": ' + b"[" * depth + b"]" * depth + b"}", SETTINGS)


@pytest.mark.parametrize("text", [b"\\ud800", b"\\udc00\\ud800", b"\xed\xa0\x80", b"\xff", b"\0"])
def test_what_is_no_text_is_refused(text: bytes) -> None:
    with pytest.raises(RefusedError, match="malformed JSON"):
        read_text(b'{"text": "' + text + b'"}', SETTINGS)
