"""How old the writer is, by the calendar: a birthday, a year, a decade, an event remembered."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.wording import lowered
from dynaserve.rlaa.records import Level

_BORN = re.compile(
    r"(?<!\w)(?P<lead>(?:i was |i'm |me, "
    r"|and )?born(?: and raised)?(?: back)? (?:in|around"
    r"|on)(?: the)?(?: year)?|class of|baby of|graduat(?:ed"
    r"|ing)(?: from)? (?:high school|college|university|uni"
    r"|school)?(?: back)? ?in|birth year)"
    r" (?P<year>(?:19[2-9]\d|20[0-2]\d)(?!'?s)|'\d\d)(?!\w)"
)
_BIRTH_DATE = re.compile(
    r"(?<!\w)(?P<lead>(?:born|birthday|date of birth|birth date|birthdate|dob"
    r"|b-?day)(?: (?:on|is|it's|its|was)"
    r"|[:.?,]){0,3}(?: it'?s)?) ?(?P<date>\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov"
    r"|dec)[a-z]{0,6}\.? \d{1,2}(?:st|nd|rd|th)?(?:,? (?:19|20)\d\d)?"
    r"|\d{1,2}(?:st|nd|rd|th)? (?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep"
    r"|oct|nov|dec)[a-z]{0,6}(?:,? (?:19|20)\d\d)?)(?!\w)"
)
_CHILD_OF = re.compile(
    r"(?<!\w)(?P<lead>(?:child|kid|baby|product|teen(?:ager)?"
    r"|teenage \w{3,8}) (?:of|in|from|during) the|grew up in the"
    r"|growing up in the|grown up in the|raised in the|(?:i was|as) a (?:kid"
    r"|teen|teenager|child) in the|back in the|my \w{3,10} (?:days"
    r"|years) in the)"
    r" (?P<part>early |mid |late |mid-|late-"
    r"|early-)?(?P<decade>(?:19)?[4-9]0'?s|2000'?s|'[4-9]0s|fifties|sixties"
    r"|seventies|eighties|nineties|noughties)(?!\w)"
)
_EVENTS = {
    r"(?:moon landing|landed on the moon|apollo 11)": 1969,
    r"woodstock": 1969,
    r"berlin wall (?:fell|came down|fall)|fall of the (?:berlin )?wall": 1989,
    r"(?:princess )?diana'?s (?:tragic )?(?:car )?(?:crash|death|accident)": 1997,
    r"y2k": 2000,
    r"9/11|september 11|twin towers": 2001,
    r"live aid": 1985,
    r"(?:jfk|kennedy)(?:'s)? (?:was shot|assassination)": 1963,
    r"challenger (?:explosion|disaster)": 1986,
    r"chernobyl": 1986,
}
_EVENT_PATTERNS = tuple(
    (re.compile(rf"(?<!\w)(?:{pattern})(?!\w)"), year) for pattern, year in _EVENTS.items()
)
_DECADES = {"fifties": 1950, "sixties": 1960, "seventies": 1970, "eighties": 1980, "nineties": 1990}
_SELF = re.compile(r"\b(?:i|i'm|me|my)\b")


def calendar(text: str, year: int | None = None) -> Iterator[Finding]:
    """Find birthdays, years of birth and school, decades of youth, and events lived through.

    Ages are those of ``year``, by default the present one.
    """
    now = year or datetime.datetime.now(tz=datetime.timezone.utc).year
    # The words that stay come back in their own capitals: see `wording.fit`.
    text = lowered(text)
    for match in _BORN.finditer(text):
        yield _by_year(text, match, now)
    for match in _BIRTH_DATE.finditer(text):
        born = re.search(r"(?:19|20)\d\d", match["date"])
        guess = str(now - int(born.group())) if born else "a birthday"
        yield Finding(*match.span(), "age", guess, f"{match['lead']} [DATE]", Level.HIGH)
    for match in _CHILD_OF.finditer(text):
        guess = str(now - _decade(match["decade"]) + 8)
        instead = f"{match['lead'].removesuffix(' the')} those days"
        yield Finding(*match.span(), "age", guess, instead, Level.MED)
    for pattern, happened in _EVENT_PATTERNS:
        for match in pattern.finditer(text):
            guess = str(now - happened + 22)
            yield Finding(*match.span(), "age", guess, "those events", Level.LOW)


def _by_year(text: str, match: re.Match[str], now: int) -> Finding:
    written = match["year"]
    year = int(written) if written.isdecimal() else 1900 + int(written[1:])
    born = re.search("born|birth|baby", match["lead"])
    mine = _SELF.search(text, max(match.start() - 20, 0), match.end())
    guess = str(now - year + (0 if born else 20))
    instead = f"{match['lead']} the {year // 10 * 10}s"
    return Finding(*match.span(), "age", guess, instead, Level.HIGH if born and mine else Level.MED)


def _decade(written: str) -> int:
    digits = re.sub(r"\D", "", written)
    if digits:
        return int(digits) if len(digits) == 4 else 1900 + int(digits)
    return _DECADES.get(written, 2000)
