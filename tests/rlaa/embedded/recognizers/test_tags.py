"""Age and sex in one word, and millions that look the same."""

from __future__ import annotations

import pytest

from dynaserve.rlaa.embedded.recognizers.tags import tags
from dynaserve.rlaa.records import Level


def read(text: str) -> list[tuple[str, str, str, Level]]:
    return [(text[f.start : f.end], f.attribute, f.guess, f.level) for f in tags(text)]


@pytest.mark.parametrize(
    ("text", "tag", "age", "sex", "level"),
    [
        ("I (25F) need advice", "(25F)", "25", "female", Level.HIGH),
        ("me [31 M] and her", "[31 M]", "31", "male", Level.HIGH),
        ("(25M) looking for advice", "(25M)", "25", "male", Level.HIGH),
        ("my husband (31M)", "(31M)", "31", "male", Level.MED),
        ("I'm 25F, hello", "25F", "25", "female", Level.HIGH),
        ("25F here", "25F", "25", "female", Level.HIGH),
        ("25F, I need advice", "25F", "25", "female", Level.HIGH),
        ("Hi. M/42, single", "M/42", "42", "male", Level.HIGH),
        ("31yo guy here", "31yo guy", "31", "male", Level.HIGH),
        ("(25m) from Porto", "(25m)", "25", "male", Level.HIGH),
        ("(f 22)", "(f 22)", "22", "female", Level.HIGH),
    ],
)
def test_a_tag_gives_age_and_sex_away(
    text: str, tag: str, age: str, sex: str, level: Level
) -> None:
    assert read(text) == [(tag, "age", age, level), (tag, "sex", sex, level)]


@pytest.mark.parametrize(
    "text",
    ["25M users joined", "we raised 25M", "25M, they say: no", "I have 25M dollars", "an F16 jet",
     "the M25 is shut", "it cost me 25M dollars", "(25 m) deep", "(25m) deep",
     "[30m] away", "I'm 25m of rope short"],
)  # fmt: skip
def test_millions_and_machines_are_nobody(text: str) -> None:
    assert [found for found in read(text) if found[3] is Level.HIGH] == []
