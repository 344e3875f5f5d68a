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
    r"(?:s?(?: (?:is|was)|:|=|#| ){1,3}\s{0,3}|(?=\d{3}))"
    r"(?P<value>(?=[A-Za-z -]{0,4}\d)[A-Za-z\d][A-Za-z\d-]{1,20}(?![A-Za-z\d])(?: "
    r"(?=[A-Z\d]{0,3}\d)[A-Z\d]{2,4}| [A-Z]{2}(?![A-Za-z]))?)",
    re.IGNORECASE,
)
_HANDLE = re.compile(
    r"(?<![\w.@/])@(?=\w{0,20}[A-Za-z])\w{2,30}(?:\.[a-z0-9_]{2,20}){0,2}(?![\w.]*@)"
    r"|(?<![\w/])/?u/[\w-]{3,24}",
    re.ASCII,
)
_CUED_HANDLE = re.compile(
    r"(?<!\w)(?:insta(?:gram)?|snap(?:chat)?|telegram|twitter|tiktok|discord|skype|github|reddit"
    r"|steam|psn|venmo|username|user name|handle|gamertag|screen name)"
    r"(?: (?:name|handle|id|username|account|tag))?(?: (?:is|was)|:|=){1,2}\s{1,3}@?"
    r"(?P<name>(?=[A-Za-z]{0,24}[\d_.][A-Za-z\d])[A-Za-z\d][\w.]{2,28}\w)",
    re.IGNORECASE | re.ASCII,
)
"""A name without a digit or a sign in it may be a word: "my username is wrong"."""
_LETTERS_AND_DIGITS = re.compile(r"(?<!\w)[A-Za-z]{1,2}\d{6,14}(?!\w)")
_MEASURED = re.compile(
    r"\s(?:dollars|bucks|euros?|pounds|quid|yen|yuan|rupees|pesos|francs|rubles|kronor|kroner"
    r"|usd|eur|gbp|inr|jpy|chf|bytes|bits|pixels|tokens|milliseconds|microseconds|nanoseconds|ms"
    r"|seconds|people|inhabitants|kilomet(?:er|re)s|km|miles)(?!\w)",
    re.IGNORECASE,
)
"""Units after an amount. Not words that may be verbs: "user 5550142 likes it"."""


def identifiers(text: str) -> Iterator[Finding]:
    """Find emails, links, phones, accounts, cards, keys, addresses as redaction knows them."""
    for span in find_personal(text):
        amount = span.label == "NUMBER" and text[span.start : span.end].isdecimal()
        if amount and _MEASURED.match(text, span.end):
            continue
        yield _named(span.start, span.end, span.label)


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


def cued_handles(text: str) -> Iterator[Finding]:
    """Find names of accounts after the name of the service: "my insta is ada.quill"."""
    for match in _CUED_HANDLE.finditer(text):
        yield _named(*match.span("name"), "HANDLE")


def _named(start: int, end: int, label: str) -> Finding:
    return Finding(start, end, IDENTIFIER, label.lower(), f"[{label}]", Level.HIGH)
