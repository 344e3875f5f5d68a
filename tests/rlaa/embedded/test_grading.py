"""Denied, imagined, quoted, of others, or the writer's own."""

from __future__ import annotations

import pytest

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.grading import clause, grade
from dynaserve.rlaa.records import IDENTIFIER, Level


def level(text: str, said: str, first: Level = Level.HIGH, attribute: str = "location") -> Level:
    start = text.index(said)
    return grade(text, Finding(start, start + len(said), attribute, "", "", first))[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live in Porto", Level.HIGH),
        ("I have never lived in Porto", Level.INVALID),
        ("I don't live in Porto", Level.INVALID),
        ("If I were from Porto", Level.INVALID),
        ("I am by no means from Porto", Level.INVALID),
        ("I'd rather be anything but from Porto", Level.INVALID),
        ("I live not only in Porto", Level.HIGH),
        ("I am not tired but from Porto", Level.HIGH),
        ("I'm not from here. I live in Porto", Level.HIGH),
        ("He lives in Porto", Level.LOW),
        ("My brother lives in Porto", Level.LOW),
        ("My brother and I live in Porto", Level.HIGH),
        ("Mr. Quill lives in Porto", Level.LOW),
        ('She said "we live in Porto', Level.LOW),
    ],
)
def test_the_words_before_decide(text: str, expected: Level) -> None:
    assert level(text, "Porto") is expected


@pytest.mark.parametrize(
    ("text", "said", "expected"),
    [
        ("I'm not married and I'm a nurse", "I'm a nurse", Level.HIGH),
        ("I'm not married or a nurse", "a nurse", Level.INVALID),
        ("I don't like my wife", "my wife", Level.HIGH),
        ("that is not my wife", "my wife", Level.INVALID),
    ],
)
def test_a_denial_reaches_to_the_next_clause_and_not_to_what_is_presumed(
    text: str, said: str, expected: Level
) -> None:
    assert level(text, said) is expected


def test_what_is_implied_needs_the_writer_in_the_sentence() -> None:
    assert level("Porto is near my flat", "Porto", Level.MED) is Level.MED
    assert level("Porto is nice", "Porto", Level.MED) is Level.LOW


def test_weak_evidence_stays_weak() -> None:
    assert level("I live in Porto", "Porto", Level.LOW) is Level.LOW


def test_an_identifier_counts_whoever_it_belongs_to() -> None:
    assert level("He is not at 12 Elm", "12 Elm", attribute=IDENTIFIER) is Level.HIGH


def test_a_sentence_begins_after_the_one_before() -> None:
    assert clause("One. Two three", 9) == "Two "
    assert len(clause("word " * 1000, 4000)) == 120
