"""The surface of words: typographic variants before recognition, capitals after replacement."""

from __future__ import annotations

import re

_VARIANTS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201b\u02bc\u00b4\u0060", "'"),
        **dict.fromkeys("\u201c\u201d\u201f\u00ab\u00bb", '"'),
        **dict.fromkeys("\u00a0\u2007\u202f\u2009\u200a\u3000", " "),
        **dict.fromkeys("\u2010\u2011\u2012\u2212", "-"),
    }
)
_LABEL = re.compile(r"(\[[A-Z]+\])")
_OPENING = re.compile(r"(?:^|[.!?]|\n\s*\n)[\s\"'(]{0,4}$")
_LONGEST_ACRONYM = 3
_AROUND = 20
"""Code points on both sides that tell capitals of a short word from those of all words."""


def plain(text: str) -> str:
    """Return the text with one sign for all variants of it; every offset stays what it was.

    Examples
    --------
    >>> plain("I\u2019m\u00a031")
    "I'm 31"
    """
    return text.translate(_VARIANTS)


def lowered(text: str) -> str:
    """Return the text in lower case; every offset stays what it was."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)


def fit(instead: str, text: str, start: int, end: int) -> str:
    """Return a replacement in the capitals and typography of what it replaces.

    Examples
    --------
    >>> fit("my partner", "My wife", 0, 7), fit("my partner", "MY WIFE", 0, 7)
    ('My partner', 'MY PARTNER')
    """
    before = text[start:end]
    if _shouted(before) or _shouted(text[max(start - _AROUND, 0) : end + _AROUND]):
        instead = recased(instead, before.upper(), before.lower())
    elif not before[:1].islower() and _OPENING.search(text, max(start - 8, 0), start):
        # A name has its capital anywhere in a sentence, other words only at the start of one.
        instead = instead[:1].upper() + instead[1:]
    kept = _kept(instead, before)
    return before[:kept] + instead[kept:]


def recased(instead: str, like: str, than: str) -> str:
    """Return a replacement for one spelling of some words in the capitals of another one.

    Labels keep theirs.

    Examples
    --------
    >>> recased("a big city", "PORTO", "Porto"), recased("a big city", "Porto", "porto")
    ('A BIG CITY', 'A big city')
    """
    if len(like) > 1 and like.isupper() and not than.isupper():
        parts = _LABEL.split(instead)
        return "".join(part if _LABEL.fullmatch(part) else part.upper() for part in parts)
    if like[:1].isupper() and than[:1].islower():
        return instead[:1].upper() + instead[1:]
    if like[:1].islower() and than[:1].isupper() and not than.isupper():
        return instead[:1].lower() + instead[1:]
    return instead


def _shouted(words: str) -> bool:
    letters = [sign for sign in words if sign.isalpha()]
    return len(letters) > _LONGEST_ACRONYM and all(sign.isupper() for sign in letters)


def _kept(instead: str, before: str) -> int:
    """Return the length of the words at the start that are the same but for their surface."""
    whole = 0
    for at, (new, old) in enumerate(zip(instead, plain(before), strict=False)):
        if new.lower() != old.lower():
            break
        if not new.isalnum():
            whole = at + 1
    return whole
