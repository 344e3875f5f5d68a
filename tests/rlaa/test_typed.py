"""The characters that nobody types."""

from __future__ import annotations

import doctest

import pytest

from dynaserve.rlaa import typed
from dynaserve.rlaa.typed import LINES, untyped


@pytest.mark.parametrize("character", list("\t\n\r\x00\x1b\u200b\u202e\u2028\u2029\ufeff\ud800"))
def test_what_nobody_types_is_named_unless_it_was_there(character: str) -> None:
    assert untyped(f"a{character}b", "ab") == f"U+{ord(character):04X}"
    assert untyped(f"a{character}b", character) is None


@pytest.mark.parametrize("text", ["", "日本", "👩\u200d💻", "نیم\u200cفاصله", "e\u0301 é\u00a0!"])
def test_what_people_type_is_nothing_to_name(text: str) -> None:
    assert untyped(text, "") is None


def test_a_whole_text_may_hold_lines() -> None:
    assert untyped("a\n\tb", LINES) is None
    assert untyped("a\r\nb", LINES) == "U+000D"


def test_the_examples_run() -> None:
    assert doctest.testmod(typed).failed == 0
    assert doctest.testmod(typed).attempted
