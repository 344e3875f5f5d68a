from __future__ import annotations

import base64
import json
import urllib.parse
from html import escape

import pytest

from dynaserve.canarybench.matching.decoding import decoded
from dynaserve.canarybench.matching.layers import Layer


def once(text: str) -> str:
    layer = decoded(Layer.of(text), 100)
    return text if layer is None else layer.text


def origin_of(text: str, part: str) -> str:
    """Return what of a text its decoded ``part`` comes from."""
    layer = decoded(Layer.of(text), 100)
    assert layer is not None
    at = layer.text.index(part)
    return text[layer.starts[at] : layer.ends[at + len(part) - 1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text, 20 % of it & more", "plain text, 20 % of it & more"),
        (urllib.parse.quote("jo@é.fr"), "jo@é.fr"),
        ("a%4", "a%4"),
        (escape("<jo & co>"), "<jo & co>"),
        ("jo&#64;x&#x2E;org&period;", "jo@x.org."),
        ("&nosuchthing;", "&nosuchthing;"),
        (json.dumps("é😀\n\"'\\")[1:-1], "é😀\n\"'\\"),
        (r"\x6a\x6F", "jo"),
        ("jo<b>el</b>", "joel"),
        ("a < b", "a < b"),
        ("%4\n   0", "%40"),
        ("s p a c e d  o u t", "spacedout"),
        ("(s p a c e d  o u t).", "(spacedout)."),
        ("?s p a c e d  o u t!", "?spacedout!"),
        ("a b c d", "a b c d"),
    ],
)
def test_what_is_escaped_is_unescaped(text: str, expected: str) -> None:
    assert once(text) == expected


@pytest.mark.parametrize("glue", ["", "x", "xy", "xyz"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode, bytes.hex])
def test_tokens_are_read_in_every_phase(glue: str, encode) -> None:  # type: ignore[no-untyped-def]
    token = encode("jörg.7@example.org?>~".encode())
    token = token if isinstance(token, str) else token.decode()
    assert "rg.7@example.org" in once(f"see {glue}{token}")


def test_a_token_may_run_over_lines() -> None:
    token = base64.encodebytes(b"0123 Some Street " * 9).decode()
    assert token.count("\n") > 2
    assert once(f"text:\n    {token}").count("0123 Some Street") == 9


def test_words_and_numbers_are_no_tokens() -> None:
    text = "Internationalization McDonald's-Restaurant 4155550123 iPhones\nAnd more WORDS"
    assert decoded(Layer.of(text), 100) is None


def test_a_token_that_goes_on_behind_an_escape_waits_for_it() -> None:
    token = base64.b64encode(b"jo.byron7@example.org").decode()
    broken = f"{token[:9]}<b>{token[9:]}</b>"
    assert once(broken) == token


@pytest.mark.parametrize(
    ("text", "part", "origin"),
    [
        ("see %C3%A9%40x", "é", "%C3%A9"),
        ("see %C3%A9%40x", "@", "%40"),
        (r"see \ud83d\ude00\u0040x", "@", r"\u0040"),
        ("see &#233;&#64;x", "@", "&#64;"),
        ("see 6a6f2e3740782e6f7267", "7@", "3740"),
        ("see am8uN0B4Lm9yZw==", "jo.", "am8u"),
        ("see s p a c e d i t out", "ace", "a c e"),
    ],
)
def test_decoded_text_knows_where_it_stood(text: str, part: str, origin: str) -> None:
    assert origin_of(text, part) == origin


def test_a_mirrored_layer_leads_to_the_same_places() -> None:
    text = "see 04%x"
    layer = decoded(Layer.of(text).mirrored(), 100)
    assert layer is not None
    at = layer.text.index("@")
    assert text[layer.starts[at] : layer.ends[at]] == "04%"


def test_only_the_surroundings_are_kept() -> None:
    layer = decoded(Layer.of("a" * 50 + "%40" + "b" * 50 + "%41" + "c" * 50), 5)
    assert layer is not None
    assert layer.text == "aaaaa@bbbbb\nbbbbbAccccc".replace("aaaaa@", "\naaaaa@")
