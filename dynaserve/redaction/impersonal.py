"""Numbers that belong to nobody: dates, times of day, versions of software, counts of things.

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
_VERSION = r"(?<![\d.])\d{1,4}(?:\.\d{1,5}){2,4}(?![\d-]|\.\d)"
_VERSION_CUE = re.compile(
    r"(?:(?<![^\W_])v\.?\s?|\b(?:versions?|ver\.?|releases?|build|firmware|revision|rev\.?|patch"
    r"|upgraded?\sto|(?-i:[A-Z])[a-z]{3,20}/)[\s:=#v]{0,3})$",
    re.IGNORECASE,
)
_LONGEST_CUE = 24
"""Code points before a number that are looked at, for time linear in the text."""
_IMPERSONAL = re.compile(rf"{_DATE}|{_TIME}|(?P<version>{_VERSION})")
_DIGITS = re.compile(r"\d[\d.:/,T-]{3,40}")
"""Where such a number may stand: quick to find."""
_AFTER = 4
"""Code points after it that are looked at."""
FILL = "\0"
"""What stands for each character of such a number."""

_THINGS = (
    r"(?:people|persons|km|kms|kg|feet|ft|m|mm|ml|mi|mph|rpm|kw|kwh|mw|hz|khz|mhz|gb|mb|kb|tb|lbs?"
    r"|usd|eur|gbp|yen|quid|percent|items?|per|times|[a-z]{2,20}(?<!thi)(?<!i)(?<!wa)(?<!ha)(?<!doe)"
    r"(?<!u)(?<!ye)(?<!a)(?<!plu)(?<!thu)(?<!alway)(?<!perhap)(?<!unles)(?<!beside)(?<!acros)"
    r"(?<!toward)s)"
)
_COUNTED = re.compile(
    r"\s(?:(?:more|new|other|active|different|extra|additional|square|cubic|unique|daily) )?"
    rf"(?:{_THINGS}(?![\w'])|[%\u20ac\u00a3$])"
)
_COUNT_CUE = re.compile(
    r"\b(?:population(?: of| is|:)?|more than|less than|fewer than|at least|up to|nearly|almost"
    r"|roughly|than)\s$",
    re.IGNORECASE,
)


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
            if not found["version"] or _is_cued(_VERSION_CUE, text, found.start()):
                pieces += (text[at : found.start()], FILL * len(found.group()))
                at = found.end()
    return "".join((*pieces, text[at:]))


def is_count(text: str, start: int, end: int) -> bool:
    """Return whether a number counts something, as in "10000 steps" or "a population of 84000"."""
    return bool(_COUNTED.match(text, end)) or _is_cued(_COUNT_CUE, text, start)


def _is_cued(cue: re.Pattern[str], text: str, start: int) -> bool:
    return cue.search(text, max(start - _LONGEST_CUE, 0), start) is not None
