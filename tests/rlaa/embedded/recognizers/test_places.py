"""Who lives where, who is from where, and who only talks of places."""

from __future__ import annotations

import pytest

from dynaserve.rlaa.embedded.recognizers.places import places
from dynaserve.rlaa.records import Level


def read(text: str) -> set[tuple[str, str, Level]]:
    """Return what is more than weak: evidence, attribute, level."""
    found = ((text[f.start : f.end], f.attribute, f.level) for f in places(text))
    return {finding for finding in found if finding[2] is not Level.LOW}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live in Porto", {("Porto", "location", Level.HIGH)}),
        ("greetings from rainy Porto", {("Porto", "location", Level.HIGH)}),
        ("We moved to Porto", {("Porto", "location", Level.HIGH)}),
        ("I was born and raised in Porto", {("Porto", "birth_place", Level.HIGH)}),
        ("my Porto roots", {("Porto", "birth_place", Level.HIGH)}),
        ("I miss Porto", {("Porto", "birth_place", Level.MED)}),
        ("our winters in Porto", {("Porto", "location", Level.MED)}),
        ("our trip to Porto", set()),
        ("set in Porto", set()),
        ("I live in Nice", {("in Nice", "location", Level.HIGH)}),
        ("Nice, I like that", set()),
        ("I live in the UK", {("in the UK", "location", Level.HIGH)}),
        ("I live in the Netherlands", {("the Netherlands", "location", Level.HIGH)}),
        ("as an Italian", {("an Italian", "birth_place", Level.HIGH)}),
        ("I'm Italian", {("Italian", "birth_place", Level.HIGH)}),
        ("Italian food", set()),
        ("I am an Italian teacher", set()),
    ],
)
def test_the_words_around_a_name_decide(text: str, expected: set[tuple[str, str, Level]]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("I live in the UK", "in northern Europe"),
        ("I live in Nice", "in western Europe"),
        ("as an Italian", "somebody from southern Europe"),
        ("I'm Italian", "from southern Europe"),
        ("we Italians", "people from southern Europe"),
    ],
)
def test_articles_and_prepositions_still_fit(text: str, instead: str) -> None:
    assert {finding.instead for finding in places(text)} == {instead}


@pytest.mark.parametrize(
    "text", ["I love New York cheesecake", "My Boston terrier", "Berlin Wall museum"]
)
def test_a_thing_named_after_a_place_is_no_place(text: str) -> None:
    assert list(places(text)) == []


def test_somebody_who_lives_there_is_found_all_the_same() -> None:
    assert ("Berlin", "location", Level.HIGH) in read("I live in Berlin. Wall or no Wall")
    assert ("Berlin", "birth_place", Level.HIGH) in read("I grew up in Berlin Wall times")
