"""Phrases: how they are searched for, and that no replacement of theirs gives anything away."""

from __future__ import annotations

import importlib
import re

import pytest

from dynaserve.rlaa.embedded import EmbeddedEngine
from dynaserve.rlaa.embedded.recognizers.age import decade
from dynaserve.rlaa.embedded.recognizers.phrases import Phrase, Phrases
from dynaserve.rlaa.embedded.work import JOBS, kind_of
from dynaserve.rlaa.records import ATTRIBUTES, Level

ENGINE = EmbeddedEngine()
TABLES = ("sex", "relationship", "occupation", "education", "income")


def sure_leaks(text: str) -> list[str]:
    return [leak.evidence for leak in ENGINE.attack(text, ATTRIBUTES) if leak.certainty > 2]


@pytest.mark.parametrize("name", TABLES)
def test_no_replacement_of_a_phrase_gives_anything_away(name: str) -> None:
    module = importlib.import_module(f"dynaserve.rlaa.embedded.recognizers.{name}")
    replacements = {phrase.instead for phrase in module._PHRASES.phrases}
    for instead in replacements:
        words = re.sub(r"\\g<\w+>", "I'm", instead)
        assert sure_leaks(f"We said {words} and left.") == [], instead


def test_no_decade_and_no_kind_of_work_gives_anything_away() -> None:
    for years in range(13, 100):
        assert sure_leaks(f"I'm {decade(years)} now") == []
    for kind in {kind_of(job) for job in JOBS}:
        assert sure_leaks(f"I'm somebody {kind}, as somebody {kind}") == []


def test_a_phrase_keeps_offsets_capitals_and_line_ends() -> None:
    phrases = Phrases(
        "sex", [Phrase(r"(?P<be>as|I'm) an? man", "male", r"\g<be> a person", Level.HIGH)]
    )
    (found,) = phrases.find("\u0130! I'M A\nMAN, a manual")
    assert (found.start, found.end, found.instead) == (3, 12, "I'M a person")


def test_phrases_that_begin_together_are_all_found() -> None:
    phrases = Phrases(
        "sex",
        [Phrase("my beard", "male", "x", Level.MED), Phrase("my", "none", "y", Level.LOW)],
    )
    assert [f.guess for f in phrases.find("my beard")] == ["male", "none"]


def test_a_phrase_stops_at_the_end_of_a_word() -> None:
    phrases = Phrases("sex", [Phrase("my beard", "male", "x", Level.MED)])
    assert list(phrases.find("my beards, tummy beard, my beard-oil, non-my beard")) == []
