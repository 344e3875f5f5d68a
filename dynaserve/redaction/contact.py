"""Ways to reach somebody in words: email addresses, links, street addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynaserve.redaction.span import Span

_INVISIBLE = "\u00ad\u200b-\u200f\u2060\ufeff"
_SIGN = r"(?:[@\uff20\ufe6b]|%40|&#64;|&#x40;|&commat;)"
_SIGN_START = re.compile(r"[@\uff20\ufe6b%&]")
_LABEL = rf"[\w{_INVISIBLE}-]+"
_DOT = r"(?:\.|\u3002|\uff0e|%2e|&#46;|&period;|\s?[\[({<]\s?(?:dot|\.)\s?[\])}>]\s?|\sdot\s)"
_HOST = re.compile(rf"{_LABEL}(?:{_DOT}{_LABEL})*", re.IGNORECASE)
# Read from right to left, so that it can start at the sign.
_LOCAL_TURNED = re.compile(rf"(?:[\w.+%'!#$&*=~{_INVISIBLE}-]|\stod\s)+", re.IGNORECASE)
_WITH_SIGN = re.compile(
    rf"(?<!\S)(?P<before>\S*?)(?P<signs>{_SIGN}(?:\S*{_SIGN})?)(?P<after>\S*)", re.IGNORECASE
)
_SPELLED = re.compile(
    r"(?P<at>\s?[\[({<]\s?(?:at|@)\s?[\])}>]\s?|\sat\s|\s@\s?|@\s)"
    rf"{_LABEL}(?:{_DOT}{_LABEL})+",
    re.IGNORECASE,
)

_URL = re.compile(r"(?:(?:https?|ftps?|wss?)://|\bwww\.)[^\s<>\"]+", re.IGNORECASE)

_STREET_TYPE = (
    r"(?:street|st|avenue|ave|lane|ln|road|rd|drive|dr|court|ct|boulevard|blvd|way|place|pl"
    r"|terrace|square|sq|highway|hwy|parkway|pkwy|close|crescent|row|mews|circle|trail|loop)"
)
_SMALL_WORD = r"(?:a|an|and|at|by|for|from|in|my|of|off|on|or|our|per|the|to|up|with)\b"
_NO_LETTER = r"(?![^\W\d_])"
_IN_NAME = r"[^\s\d,;:!?()\[\]{}<>\"@#/\\]{0,30}"  # of a street, which holds no digits
_PLACE = r"[A-Z][\w'\u2019.-]{1,30}"
_ADDRESS = re.compile(
    r"\d(?<!\d\d)\d{0,5}[A-Za-z]?,?\s{1,3}(?:"
    rf"(?:(?:[A-Z]{_IN_NAME}|\d{{1,3}}(?:st|nd|rd|th)\b)\s{{1,3}}){{1,4}}(?i:{_STREET_TYPE}){_NO_LETTER}\.?"
    rf"|(?:(?!{_SMALL_WORD})[a-z][a-z'.-]{{2,30}}\s{{1,3}}){{1,2}}{_STREET_TYPE}{_NO_LETTER}\.?"
    rf"|(?i:rue|avenue|boulevard|place|via|calle|rua)\s{{1,3}}(?:[\w'\u2019.-]{{1,30}}\s?){{1,4}}"
    r")"
    r"(?:,?\s{1,3}(?i:apt|apartment|unit|suite|ste|floor|fl|no)\b\.?\s{0,2}#?[\w-]{1,8}"
    r"|,?\s{1,3}#\s?[\w-]{1,8})?"
    rf"(?:,\s{{0,3}}{_PLACE}(?:\s{_PLACE}){{0,2}})?"
    r"(?:,?\s{1,3}[A-Z]{2}\b)?"
    r"(?:,?\s{0,3}\d{5}(?:-\d{4})?(?!\d))?"
)
_GERMAN_STREET = re.compile(
    r"\s(?:(?<=stra\u00dfe\s)|(?<=strasse\s)|(?<=str\.\s)|(?<=weg\s)|(?<=platz\s)|(?<=allee\s)"
    r"|(?<=gasse\s)|(?<=damm\s))"
    r"\d{1,4}[a-z]?\b(?:,?\s{1,3}\d{5}(?:\s[^\W\d_][\w.-]{1,30})?)?",
    re.IGNORECASE,
)
_LONGEST_STREET = 40
_PO_BOX = re.compile(r"\bP\.?\s?O\.?\s?Box\s{1,2}\d{1,8}", re.IGNORECASE)
_UK_POSTCODE = re.compile(r"[A-Z](?<!\w.)[A-Z]?\d[A-Z\d]?\s?\d[A-Z]{2}(?!\w)")


def emails(text: str) -> Iterator[Span]:
    """Find email addresses, also with the sign or the dots spelled out or encoded."""
    for word in _WITH_SIGN.finditer(text) if _SIGN_START.search(text) else ():
        local = _LOCAL_TURNED.match(word["before"][::-1])
        host = _HOST.match(text, word.start("after"))
        if local and (host or len(word["signs"]) > 1):
            start = word.end("before") - local.end()
            yield Span(start, host.end() if host else word.start("after"), "EMAIL")
    turned, last = "", 0
    for address in _SPELLED.finditer(text):
        turned = turned or text[::-1]
        # Not beyond the address before it, or a chain of them would be read again and again.
        local = _LOCAL_TURNED.match(turned, len(text) - address.start(), len(text) - last)
        if local:
            yield Span(len(text) - local.end(), address.end(), "EMAIL")
        last = address.end()


def urls(text: str) -> Iterator[Span]:
    """Find links, without the punctuation after them."""
    if "://" not in text and "www." not in text.lower():
        return
    for match in _URL.finditer(text):
        link = match.group().rstrip(".,;:!?)]}'")
        yield Span(match.start(), match.start() + len(link), "URL")


def addresses(text: str) -> Iterator[Span]:
    """Find street addresses with what follows of unit, town, state and code."""
    for match in _ADDRESS.finditer(text):
        yield Span(match.start(), match.end(), "ADDRESS")
    for match in _PO_BOX.finditer(text) if "box" in text.lower() else ():
        yield Span(match.start(), match.end(), "ADDRESS")
    for match in _GERMAN_STREET.finditer(text):
        before = text[max(match.start() - _LONGEST_STREET, 0) : match.start()]
        name = before.rsplit(maxsplit=1)[-1]
        yield Span(match.start() - len(name), match.end(), "ADDRESS")
    for match in _UK_POSTCODE.finditer(text):
        yield Span(match.start(), match.end(), "ZIP")
