"""Email addresses, plain and disguised: with signs spelled out, encoded, or set apart.

The word "at" before a dot is in many a sentence that lacks a blank ("at work.It was fun"). Only
where nothing else speaks for an address does the text stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynaserve.redaction.span import Span

_INVISIBLE = "\u00ad\u200b-\u200f\u2060\ufeff"
_SIGN = r"(?:[@\uff20\ufe6b]|%40|&#64;|&#x40;|&commat;)"
_SIGN_START = re.compile(r"[@\uff20\ufe6b%&]")
_LABEL = rf"[\w{_INVISIBLE}-]+"
TLD = (
    r"(?:com|org|net|edu|gov|mil|int|info|biz|dev|xyz|io|ai|eu|uk|de|fr|nl|ch|dk|pl|cz|ru|ua|cn|jp"
    r"|kr|br|mx|ar|ca|au|nz|za|se|fi|pt|gr|hu|ro|ie|tr|il|sg|hk|tw|cc|tv|co)"
)
"""Ends of host names that are no words."""
_SHORT_WORD = (
    r"(?:it|is|in|me|my|no|so|to|at|be|am|pm|as|by|do|us|he|we|or|an|if|of|on|up|go|hi|oh|ok|ah|id)"
)
"""Of two letters: many are countries, too."""
_COUNTRY = rf"(?!{_SHORT_WORD}\b)[a-z]{{2}}"
_SPACED_DOT = rf"\s\.\s(?=(?:co\s\.\s)?(?:{TLD}|{_COUNTRY})\b)"
_DOT = (
    r"(?:\.|\u3002|\uff0e|%2e|&#46;|&period;|\s?[\[({<]\s?(?:dot|\.)\s?[\])}>]\s?|\sdot\s"
    rf"|{_SPACED_DOT})"
)
_HOST = re.compile(rf"{_LABEL}(?:{_DOT}{_LABEL})*", re.IGNORECASE)
# Read from right to left, so that it can start at the sign.
_LOCAL_TURNED = re.compile(rf"(?:[\w.+%'!#$&*=~{_INVISIBLE}-]|\stod\s|\s\.\s)+", re.IGNORECASE)
_WITH_SIGN = re.compile(
    rf"(?<!\S)(?P<before>\S*?)(?P<signs>{_SIGN}(?:\S*{_SIGN})?)(?P<after>\S*)", re.IGNORECASE
)
_SPELLED = re.compile(
    r"(?P<at>\s?[\[({<]\s?(?:at|@)\s?[\])}>]\s?|\sat\s|\s@\s?|@\s)"
    rf"(?P<host>(?P<first>{_LABEL})(?:{_DOT}(?P<last>{_LABEL}))+)",
    re.IGNORECASE,
)
_PLAIN_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})+")
_ORDINARY_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_BEFORE_A_DOT = frozenset({"a", "the", "this", "that", "my", "your", "his", "her", "its", "each"})
"""Words after which a dot is a thing to look at."""
_AMOUNT = re.compile(r"\d+\.\d+[^\W\d_]{0,3}")
_TLD_KNOWN = re.compile(rf"{TLD}|{_COUNTRY}", re.IGNORECASE)
_NOT_IN_TLD = re.compile(rf"[{_INVISIBLE}_-]")
_SENTENCE_BEGINS = """
a after ah all also am an and are as at be because before but by can did didn do does don even
every everyone everything for from go had has have he her here hi his how i id if im in is it its
just last later maybe me most my never next no not nothing now of oh ok on once one only or our
people please pm she so some someone sometimes still that the their then there these they this
those to today tomorrow tonight too until up us very was we well went were what when where which
while who why will with would yesterday yet you your
"""
_BEFORE_AT = """
all am angry are arrive arrived ate back bad be been being best day eat end ended everyone friend
friends good great guy happened happy he's her here him home i'm im in is it it's just laugh
laughing left live lived living look looked looking looks mad me meet meeting met night not now on
one only out over party people sat saw see she's shift sit sitting sleep slept smile someone stand
start started stay stayed staying still stood stop stopped that's them then there they're time up
us wait waited waiting was we're were work worked working works you you're
"""
_GOES_BEFORE_AT = frozenset(_BEFORE_AT.split())
_COUNTRY_AND_WORD = frozenset(
    {"it", "is", "in", "me", "my", "no", "so", "to", "at", "be", "am", "as", "by", "do", "us", "id"}
)
_BEGINS_SENTENCE = frozenset(_SENTENCE_BEGINS.split())
_REST_OF_LOCAL = re.compile(rf"[\w.+%'!#$&*=~-]{{0,64}}{_SIGN}", re.IGNORECASE)
_GOES_ON = re.compile(r"(?:\s{1,3}|['\u2019])[a-z]")


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
        if local and _is_address(local.group()[::-1], address):
            yield Span(len(text) - local.end(), address.end(), "EMAIL")
            last = address.end()
        else:
            last = address.start("host")


def _is_address(local: str, spelled: re.Match[str]) -> bool:
    """Whether a spelled sign stands in an address, and not in a sentence or before an amount.

    In doubt it does: only the word "at" after an ordinary word may be no more than that.
    """
    sign = spelled["at"].strip()
    if sign[:1] in set("[({<"):
        return True
    if _AMOUNT.fullmatch(spelled["host"]):
        return False
    in_sentence = (
        sign.lower() == "at"
        and _ORDINARY_WORD.fullmatch(local)
        and (_PLAIN_HOST.fullmatch(spelled["host"]) or spelled["first"].lower() in _BEFORE_A_DOT)
    )
    return not in_sentence or _ends_as_host(spelled, local.lower() in _GOES_BEFORE_AT)


def _ends_as_host(spelled: re.Match[str], everyday: bool) -> bool:
    """Whether a host ends here: no sentence begins ("at work.It was"), nor goes an address on.

    Everyday words before "at" make a sentence of what would be a host after others.
    """
    text, end = spelled.string, spelled.end()
    if _REST_OF_LOCAL.match(text, end) or (everyday and _SPELLED.match(text, end)):
        return False
    if not _GOES_ON.match(text, end):
        return True
    last = _NOT_IN_TLD.sub("", spelled["last"])
    if _TLD_KNOWN.fullmatch(last) or (last.lower() in _COUNTRY_AND_WORD and not everyday):
        return True
    capital = last[:1].isupper() and last[1:].islower()
    return not (capital or last.lower() in _BEGINS_SENTENCE)
