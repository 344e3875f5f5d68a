"""Names of persons by what announces them, in capitals too."""

from __future__ import annotations

import pytest

from dynaserve.rlaa.embedded.recognizers.persons import persons


def names(text: str) -> list[str]:
    return [text[finding.start : finding.end] for finding in persons(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Ada Quill, hello", ["Ada Quill"]),
        ("This is Ada A Quill.", ["Ada A Quill"]),
        ("I'm Maria Gonzalez.", ["Maria Gonzalez"]),
        ("I am Ludwig van Quill, hello", ["Ludwig van Quill"]),
        ("Hi all, I'm Maria and I sew", ["Maria"]),
        ("Good morning! I'm Maria.", ["Maria"]),
        # in capitals throughout
        ("MY NAME IS ADA QUILL AND I LIVE IN PORTO", ["ADA QUILL"]),
        ("DR. QUILL WILL SEE YOU NOW", ["QUILL"]),
        ("MY NAME IS ADA QUILL RUNNING LATE", ["ADA QUILL"]),
    ],
)
def test_a_name_is_found_and_ends_where_the_sentence_goes_on(
    text: str, expected: list[str]
) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "THIS IS VERY BAD AND I MISS HOME",
        "CALL ME LATER AND TELL HIM THE TRUTH",
        "I'm Maria",
        "I'm Irish Catholic.",
        "I'm Italian American, you know",
        "I'm So Tired.",
        "I'm Star Wars fan",
        "Hello, I'm Interested in this",
        "Hi, I'm Looking for Socks.",
        "Hey, I'm Bipolar.",
        "I'm Team Edward.",
    ],
)
def test_what_only_looks_like_a_name_stays(text: str) -> None:
    assert names(text) == []
