"""Direct identifiers: what redaction finds, and numbers that the words before them identify."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynaserve.redaction import find_personal
from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.records import IDENTIFIER, Level

_CUED = re.compile(
    r"(?<!\w)(?P<cue>(?:zip|post(?:al)?)[ -]?codes?|zip|ssn"
    r"|social security(?: (?:number|no\.?))?"
    r"|(?:driver'?s?|driving) licen[cs]e(?: (?:number|no\.?))?|licen[cs]e (?:number|plate)"
    r"|passport(?: (?:number|no\.?))?|(?:account|member|customer|policy"
    r"|employee|student|patient)"
    r" (?:number|no\.?|id)|(?:tax|national) (?:id|number)(?: number)?|cvv|cvc)"
    r"(?: (?:is|was)|s|:|=|#| ){1,3}\s{0,3}"
    r"(?P<value>(?=[A-Za-z -]{0,4}\d)[A-Za-z\d][A-Za-z\d-]{1,20}(?![A-Za-z\d])(?: "
    r"(?=[A-Z\d]{0,3}\d)[A-Z\d]{2,4}| [A-Z]{2}(?![A-Za-z]))?)",
    re.IGNORECASE,
)
_HANDLE = re.compile(
    r"(?<![\w.@/])@(?=\w{0,20}[A-Za-z])\w{3,30}(?![\w.]*@)|(?<![\w/])/?u/[\w-]{3,24}", re.ASCII
)
_ON_THE_WAY = re.compile(
    r"[^\s@]{1,64}\sat\s(?=[\w.%+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}\Z)", re.IGNORECASE
)
"""What redaction takes for the beginning of an address with a spelled sign: "me at jo@x.org"."""
_LETTERS_AND_DIGITS = re.compile(r"(?<!\w)[A-Za-z]{1,2}\d{6,14}(?!\w)")


def identifiers(text: str) -> Iterator[Finding]:
    """Find emails, links, phones, accounts, cards, keys, addresses as redaction knows them."""
    for span in find_personal(text):
        before = _ON_THE_WAY.match(text[span.start : span.end]) if span.label == "EMAIL" else None
        yield _named(span.start + (before.end() if before else 0), span.end, span.label)


def cued_numbers(text: str) -> Iterator[Finding]:
    """Find short numbers that only their cue makes personal: "my zip code is 610"."""
    for match in _CUED.finditer(text):
        label = "ZIP" if match["cue"].lower().startswith(("zip", "post")) else "NUMBER"
        # With the cue: the bare digits may stand for something else further on in the text.
        kept = text[match.start() : match.start("value")]
        yield Finding(match.start(), match.end(), IDENTIFIER, label, f"{kept}[{label}]", Level.HIGH)


def codes(text: str) -> Iterator[Finding]:
    """Find licences and the like, a letter or two before many digits."""
    for match in _LETTERS_AND_DIGITS.finditer(text):
        yield _named(*match.span(), "NUMBER")


def handles(text: str) -> Iterator[Finding]:
    """Find names of accounts: @somebody, u/somebody."""
    for match in _HANDLE.finditer(text):
        yield _named(*match.span(), "HANDLE")


def _named(start: int, end: int, label: str) -> Finding:
    return Finding(start, end, IDENTIFIER, label.lower(), f"[{label}]", Level.HIGH)
