"""What a model may put into a text, and what it may not."""

from __future__ import annotations

import pytest

from dynaserve.rlaa.model_roles.checks import (
    is_placeholder,
    is_refusal,
    repeats,
    require_writable,
)
from dynaserve.rlaa.roles import RoleError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("in porto", "Porto"),
        ("the P\u200borto area", "PORTO"),
        ("ｐｏｒｔｏ", "Porto"),
        ("Portoville", "Porto"),
        ("my  wife", "My wife"),
        ("it’s a nurse’s job", "nurse's"),
        ("age 31, or so", "31"),
        ("call212-555-0142now", "212-555-0142"),
        ("P\N{CYRILLIC SMALL LETTER O}rto", "Porto"),
        ("\N{GREEK CAPITAL LETTER NU}urse", "nurse"),
        ("Por to", "Porto"),
        ("P-o-r-t-o", "Porto"),
        ("P0rto", "Porto"),
        ("the p0rt0 area", "Porto"),
        ("otroP", "Porto"),
        ("3 1", "31"),
        ("NewYork", "New York"),
    ],
)
def test_a_value_is_seen_in_every_spelling(text, value):
    assert repeats(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a particular thing", "art"),
        ("in 1931", "31"),
        ("somewhere else", "we"),
        ("a port on the coast", "Porto"),
        ("around 40", "ao"),
        ("13", "31"),
        ("x", ""),
        ("", "x"),
    ],
)
def test_a_short_value_is_not_seen_inside_another_word(text, value):
    assert not repeats(text, value)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, I cannot rewrite this.",
        "I cannot assist with this request.",
        "Sorry, no.",
        "As an AI language model, I have no opinion.",
        "I can't really help you here.",
        "**I apologize**, but no.",
        "I won't do that.",
    ],
)
def test_a_refusal_is_known_by_its_beginning(text):
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    ["I can't believe it!", "I work in the north.", "She said sorry.", "a person in her 30s"],
)
def test_ordinary_words_are_no_refusal(text):
    assert not is_refusal(text)


@pytest.mark.parametrize("text", ["👩‍💻", "نیم‌فاصله", "日本"])
def test_what_people_type_may_be_written(text):
    require_writable(text, instead_of="")


@pytest.mark.parametrize(
    "text",
    ["a\u202eb", "a\x00", "a\u200bb", "\x1b[31mred", "a\ud800", "a\nb", "a\tb", "a\rb", "a\u2028b"],
)
def test_what_nobody_types_may_not_unless_the_author_did(text):
    with pytest.raises(RoleError, match="which nobody types"):
        require_writable(text, instead_of="")
    require_writable(text, instead_of=text)


@pytest.mark.parametrize("text", ["", " \n", "\u200d"])
def test_blank_text_is_refused(text):
    with pytest.raises(RoleError, match="nothing to be seen"):
        require_writable(text, instead_of="\u200d")


@pytest.mark.parametrize(
    "text",
    [
        "N/A", "n/a.", "None", "[replacement]", "[CITY]", "in [city]", "<city>", "{city}",
        "<img src=x onerror=alert(1)>", "the <b>north", "(a city)", "redacted", "*Redacted*",
        "not specified", "XXXX", "...", "***",
    ],
)  # fmt: skip
def test_a_placeholder_is_no_replacement(text):
    assert is_placeholder(text, instead_of="Porto")


@pytest.mark.parametrize(
    ("text", "instead_of"),
    [
        ("a city (in the north)", "Porto"),
        ("[sic] a city", "[sic] Porto"),
        ("nonesuch", "Porto"),
        ("a string quartet", "Porto"),
        ("30s", "31"),
        ("北", "Porto"),
        ("...", "?!"),
        ("🙂", "Porto"),
    ],
)
def test_words_and_what_the_author_framed_are_no_placeholder(text, instead_of):
    assert not is_placeholder(text, instead_of)
