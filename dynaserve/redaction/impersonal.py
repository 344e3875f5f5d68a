"""Numbers that belong to nobody: dates, moments, versions of software, counts of things.

What hides them errs on the side of taking out too much: only forms that hardly anything personal
has are known.
"""

from __future__ import annotations

import re

_MONTH, _DAY = r"(?:0?[1-9]|1[0-2])", r"(?:0?[1-9]|[12]\d|3[01])"
_YEAR = r"(?:1[5-9]|20)\d\d"
_DATE = (
    rf"(?<![\d.+/-])(?:{_YEAR}(?P<ymd>[-/.]){_MONTH}(?P=ymd){_DAY}"
    rf"|{_DAY}(?P<dmy>[-/.]){_DAY}(?P=dmy){_YEAR})(?![-/.]?\d)"
)
_TIME = (
    r"(?:(?<![\w:.])|(?<=\dT))(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,](?:\d{1,6}|\d{9}))?)?"
    r"(?=(?:am|pm|[zZ]|h|uhr)?(?!\w))(?![:.]\d)"
)
_VERSION = r"(?<![\d.])\d{1,4}(?:\.\d{1,5}){2,4}(?![\d-]|\.\w|:\d)"
_SURE_CUE = (
    r"(?<![^\W_])(?:v\.?|(?:versions?|releases?)[\s:=#]{0,3}v?"
    r"|(?:chrome|chromium|crios|headlesschrome|firefox|fxios|safari|edg|edga|edgios|opr|vivaldi"
    r"|yabrowser|samsungbrowser)/)$"
)
_SURE = re.compile(_SURE_CUE, re.IGNORECASE)
"""Before four parts that would be an address of the network as well."""
_LIKELY = re.compile(
    rf"(?:{_SURE_CUE}|(?<![^\W_])(?:v\.?\s|(?:ver\.?|build|firmware|revision|rev\.?|patch"
    r"|upgraded?\sto|(?-i:[A-Z])[a-z]{3,20}/)[\s:=#]{0,3}v?)$)",
    re.IGNORECASE,
)
_AS_PHONE = re.compile(r"(?:1\.(?=\d{3}\.))?\d{2,4}(?:\.\d{2,5}){2,4}")
"""Of a version at least one part is of one digit, as a rule."""
_EPOCH = r"(?<![\w.+-])1\d{9}(?:\d{3})?(?![\d-]|[\s.]\d)"
"""Seconds or milliseconds since 1970, of the years 2001 to 2033."""
_EPOCH_CUE = re.compile(
    r"(?<![^\W_])(?:time[\s_-]?stamp|epoch|unix[\s_-]?time|ts|iat|exp|nbf|(?:created|updated)_at)"
    r"[\"']?\s?[:=]\s?[\"']?$",
    re.IGNORECASE,
)
_LONGEST_CUE = 24
"""Code points before a number that are looked at, for time linear in the text."""
_IMPERSONAL = re.compile(rf"{_DATE}|{_TIME}|(?P<version>{_VERSION})|(?P<epoch>{_EPOCH})")
_DIGITS = re.compile(r"\d[\d.:/,T-]{3,40}")
"""Where such a number may stand: quick to find."""
_AFTER = 4
"""Code points after it that are looked at."""
FILL = "\0"
"""What stands for each character of such a number."""

_THINGS = (
    r"(?:people|persons?|users?|visitors?|followers?|subscribers?|customers?|employees|students"
    r"|members|fans|views|likes|votes|downloads|clicks|visits|requests|queries|messages|emails"
    r"|comments|reviews|posts|tweets|steps|reps|laps|strokes|miles?|mi|mph|kmh?|kms|feet|ft|yards"
    r"|met(?:er|re)s|m|mm|cm|inches|acres|hectares|kg|kilos|grams|tons|tonnes|pounds|lbs?|ounces"
    r"|gallons|lit(?:er|re)s|ml|calories|kcal|joules|volts|watts|kw|kwh|mw|hz|khz|mhz|rpm|lumens"
    r"|bytes|kb|mb|gb|tb|bits|pixels|tokens|words|characters|lines|pages|books|songs|photos|images"
    r"|files|records|rows|samples|examples|items?|units|pieces|copies|tickets|seats|points|coins"
    r"|dollars|bucks|usd|euros?|eur|gbp|quid|yen|rupees|pesos|francs|percent|times|per"
    r"|seconds|secs|minutes|mins|hours|days|nights|weeks|months|years|cars|trees|stars|soldiers)"
)
"""What is counted by the ten thousand. Not what a district has, as in "94110 residents"."""
_COUNTED = re.compile(
    r"\s(?:(?:more|new|other|active|different|extra|additional|square|cubic|unique|daily) )?"
    rf"(?:{_THINGS}(?![\w'])|[%\u20ac\u00a3$])",
    re.IGNORECASE,
)
_POPULATION = re.compile(r"\bpopulation(?: of| is|:)?\s$", re.IGNORECASE)
_COMPARED = re.compile(
    r"(?:(?<!rather )(?<!other )\bthan|\bat least|\bup to|\bnearly|\balmost|\broughly)\s$",
    re.IGNORECASE,
)
_PLACED = re.compile(r"\b(?:in|near|around|rather than|other than)\s$", re.IGNORECASE)
_ROUND = re.compile(r"\d+00")
"""Few codes end like that; "more than 94103" may well be one."""


def without_impersonal(text: str) -> str:
    r"""Return the text with dates, times and versions blanked out; every offset stays what it was.

    Examples
    --------
    >>> without_impersonal("[2024-05-17 12:30:45] v1.2.3.4").replace("\0", "_")
    '[__________ ________] v_______'
    """
    pieces: list[str] = []
    at = 0
    for digits in _DIGITS.finditer(text):
        for found in _IMPERSONAL.finditer(text, max(digits.start(), at), digits.end() + _AFTER):
            if _is_impersonal(text, found):
                pieces += (text[at : found.start()], FILL * len(found.group()))
                at = found.end()
    return "".join((*pieces, text[at:]))


def is_count(text: str, start: int, end: int) -> bool:
    """Return whether a number counts something, as in "10000 steps" or "a population of 84000"."""
    if _is_cued(_POPULATION, text, start):
        return True
    if _ROUND.fullmatch(text, start, end):
        return bool(_COUNTED.match(text, end)) or _is_cued(_COMPARED, text, start)
    return bool(_COUNTED.match(text, end)) and not _is_cued(_PLACED, text, start)


def _is_impersonal(text: str, found: re.Match[str]) -> bool:
    if found["epoch"]:
        return _is_cued(_EPOCH_CUE, text, found.start())
    return not found["version"] or _is_version(text, found)


def _is_version(text: str, found: re.Match[str]) -> bool:
    parts = found["version"].split(".")
    if len(parts) == 4 and all(int(part) <= 255 for part in parts):
        return _is_cued(_SURE, text, found.start())
    return not _AS_PHONE.fullmatch(found["version"]) and _is_cued(_LIKELY, text, found.start())


def _is_cued(cue: re.Pattern[str], text: str, start: int) -> bool:
    return cue.search(text, max(start - _LONGEST_CUE, 0), start) is not None
