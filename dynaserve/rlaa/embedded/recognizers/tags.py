"""Age and sex in one word, as forums have it: "I (25F)", "[31 M]", "25F here".

The same letters count money and things ("25M users"), so without brackets only places count where
nothing but the writer can be meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.recognizers.age import decade
from dynaserve.rlaa.records import Level

_YEARS = r"(?:1[3-9]|[2-9]\d)"
_OLD = r"(?:yo|y/o)"
_SEX = r"(?:\s?(?i:male|female)|\s?[MFf]|m)"
"""A blank and a small m after a number are metres."""
_WHO = r"(?:guy|girl|man|woman|dude|male|female|lad|lady|[MmFf])"
_NO_METRES = r"(?!(?<=\dm[)\]])\s(?:deep|long|wide|high|thick|apart|away|below|above|underwater)\b)"
_BRACKETED = re.compile(
    rf"[(\[](?:{_YEARS}(?:\s?(?:[/,]|{_OLD},?))?{_SEX}"
    rf"|(?i:male|female|[mf])\s?/?\s?{_YEARS}(?:\s?{_OLD})?)[)\]]{_NO_METRES}"
)
_TAG = rf"(?:{_YEARS}/?[MmFf]|[MmFf]/?{_YEARS})(?![\w$%/])"
_START = r"(?:^|(?<=\n)|(?<=[.!?]\s))"
_BARE = (
    re.compile(
        rf"(?<!\w)(?i:i'm|im|i am|me|i|as an?),?\s(?P<tag>{_TAG})"
        r"(?!\s(?:users?|people|dollars?|views?|followers?|subs\w*|downloads?|of)\b)"
    ),
    re.compile(
        rf"{_START}(?P<tag>{_TAG})"
        r"(?=\s?[,:;|-]?\s(?:looking|seeking|from|in|with|single|married|living|never|my|we"
        r"|need|i(?! (?:think|guess|believe|say|hear))|i'm|i've)\b)",
        re.IGNORECASE,
    ),
    re.compile(rf"(?<!\w)(?P<tag>{_TAG}|{_YEARS}\s?{_OLD}(?:\s{_WHO})?)(?=\shere\b)"),
)
_WRITER = re.compile(r"(?:^|[.!?\n]\s{0,2}|\b(?:i|i'm|im|i am|me|myself),?\s?)$", re.IGNORECASE)
_LOOKED_AT = 12
"""Code points before a bracket that tell whose age it is."""
_AGE = re.compile(r"\d\d")
_SEXES = {
    "female": re.compile(r"(?<![^\W\d_])f(?:emale)?(?![^\W\d_])|girl|woman|lady", re.IGNORECASE),
    "male": re.compile(r"(?<![^\W\d_])m(?:ale|an)?(?![^\W\d_])|guy|dude|lad(?!y)", re.IGNORECASE),
}


def tags(text: str) -> Iterator[Finding]:
    """Find age and sex written as one: two findings at the same place."""
    for match in _BRACKETED.finditer(text):
        mine = _WRITER.search(text, max(match.start() - _LOOKED_AT, 0), match.start())
        yield from _found(text, *match.span(), Level.HIGH if mine else Level.MED)
    for pattern in _BARE:
        for match in pattern.finditer(text):
            yield from _found(text, *match.span("tag"), Level.HIGH)


def _found(text: str, start: int, end: int, level: Level) -> Iterator[Finding]:
    tag = text[start:end]
    years = int(_AGE.findall(tag)[0])
    instead = decade(years) if tag[0].isalnum() else f"({decade(years)})"
    yield Finding(start, end, "age", str(years), instead, level)
    for sex, written in _SEXES.items():
        if written.search(tag):
            yield Finding(start, end, "sex", sex, instead, level)
