"""What is guessed from what people say, attribute by attribute."""

from __future__ import annotations

import pytest

from dynaserve.rlaa.embedded import EmbeddedEngine

ENGINE = EmbeddedEngine(year=2024)

SAID = {
    "age": {
        "I'm 31.": "31", "im only 17": "17", "I just turned 40!": "40", "a 45 year old": "45",
        "I'm thirty-two now": "32", "my 60th birthday": "60", "I was born in 1985": "39",
        "in my late thirties": "38", "I was a kid in the 80s": "52", "since I retired": "63",
        "31 y/o male": "31", "a 31yo": "31", "31 yr old": "31", "I (25F) need advice": "25",
        "I hit 30 last week": "30",
    },
    "sex": {
        "as a mom": "female", "I'm just a regular guy": "male", "my husband": "female",
        "my pregnancy": "female", "my prostate": "male", "us ladies": "female",
        "I (25F) need advice": "female", "[31M] here": "male", "f/22 here": "female",
    },
    "relationship": {
        "my wife": "married", "my late husband": "widowed", "my ex-wife": "divorced",
        "my girlfriend": "in a relationship", "my fianc\u00e9e": "engaged",
        "I'm still single": "single", "I'm married to Ada": "married",
        "I'm divorced from Ada": "divorced",
    },
    "occupation": {
        "as a nurse": "nurse", "I'm a freelance graphic designer": "graphic designer",
        "I work as a line cook": "line cook", "a plumber by trade": "plumber",
        "this teacher life": "teacher", "my patients": "doctor or nurse",
    },
    "education": {
        "my PhD": "PhD", "my PhD in history": "PhD in history", "I'm studying law": "studying law",
        "have an MBA": "Masters", "my bachelor's degree": "Bachelors",
    },
    "income": {
        "I make 85k": "high", "we earn $2,000 a month": "low", "I make $45,000 a year": "middle",
        "I earn 250 thousand francs": "very high", "six figures": "high", "minimum wage": "low",
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("attribute", "text", "guess"),
    [(attribute, text, guess) for attribute, said in SAID.items() for text, guess in said.items()],
)
def test_a_statement_gives_the_attribute_away(attribute: str, text: str, guess: str) -> None:
    assert guess in {k.guess for k in ENGINE.attack(text, [attribute]) if k.attribute == attribute}


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        ("age", "31 minutes"),
        ("age", "I'm 100% sure"),
        ("age", "I'm 5 minutes late"),
        ("income", "I make 3 cakes"),
        ("income", "on 20 March"),
        ("occupation", "as soon as possible"),
        ("relationship", "a single day"),
        ("education", "I study the menu"),
        ("sex", "the man in the moon"),
        ("sex", "25M users joined"),
        ("age", "we raised 25M"),
        ("age", "the F35 flew"),
        ("occupation", "I'm no doctor"),
        ("occupation", "I'm no longer a nurse"),
        ("relationship", "I'm not in a relationship"),
        ("sex", "I'm not pregnant"),
        ("age", "I'm never retired"),
        ("age", "I just hit 30 push-ups"),
        ("age", "I'm 10 out of 10 happy"),
        ("relationship", "I'm single-minded"),
        ("relationship", "I have been single-handedly"),
        ("relationship", "I'm married to my job"),
        ("relationship", "I'm divorced from reality"),
        ("education", "I got a degree of freedom"),
        ("income", "I make six figures out of clay"),
    ],
)
def test_what_only_looks_like_it_does_not(attribute: str, text: str) -> None:
    assert ENGINE.attack(text, [attribute]) == []
