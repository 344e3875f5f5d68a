"""What a reader takes for one character: no span may cut it in two.

Extended grapheme clusters after Unicode Standard Annex 29, as far as the standard library knows
the properties they rest on: marks, emoji joined or coloured, flags, Hangul, line ends.
"""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
_VIRAMA = 9
"""Combining class of what joins the consonants of an Indic cluster."""
_LONGEST = 256
"""Code points to either side, or a text of joiners alone would take quadratic time."""


def whole_clusters(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the smallest span around one that cuts no grapheme cluster.

    Examples
    --------
    >>> whole_clusters("cafe\u0301s", 0, 4)
    (0, 5)
    """
    first, last = max(start - _LONGEST, 0), min(end + _LONGEST, len(text))
    while start > first and joins(text, start):
        start -= 1
    while end < last and joins(text, end):
        end += 1
    return start, end


def joins(text: str, at: int) -> bool:
    """Return whether the characters before and at a place belong to one cluster.

    Both ends of a text part (GB1, GB2); the numbers below are those of the annex's rules.
    """
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return before == "\r" and after == "\n"  # GB3
    if _extends(after):
        return not _parts(before)  # GB4, GB9, GB9a
    if before == _JOINER or unicodedata.combining(before) == _VIRAMA:
        return _is_joined(before, after)  # GB11, GB9c
    if _is_flag_half(after):
        return _flag_halves(text, at) % 2 == 1  # GB12, GB13
    return _hangul(before, after)  # GB6, GB7, GB8


def _extends(character: str) -> bool:
    return (
        unicodedata.category(character)[0] == "M"
        or character in "\u200c\u200d\uff9e\uff9f\u0e33\u0eb3"
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # colours of skin
        or "\U000e0020" <= character <= "\U000e007f"  # tags, as of a region's flag
    )


def _parts(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cf", "Zl", "Zp"} and not _extends(character)


def _is_joined(before: str, after: str) -> bool:
    if before == _JOINER:
        return unicodedata.category(after) in {"So", "Sm"} or after in "\u203c\u2049"
    return "\u0900" <= after <= "\u0dff" and unicodedata.category(after) == "Lo"


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_halves(text: str, at: int) -> int:
    """Return how many halves of flags stand directly before a place."""
    first = max(at - _LONGEST, 0)
    start = at
    while start > first and _is_flag_half(text[start - 1]):
        start -= 1
    return at - start


def _hangul(before: str, after: str) -> bool:
    left, right = _jamo(before), _jamo(after)
    return (left, right) in {
        ("L", "L"), ("L", "V"), ("L", "S"), ("L", "ST"),
        ("V", "V"), ("V", "T"), ("S", "V"), ("S", "T"), ("T", "T"), ("ST", "T"),
    }  # fmt: skip


def _jamo(character: str) -> str:
    """Return the kind of a Hangul character: L, V and T for parts, S and ST for syllables."""
    if "\u1100" <= character <= "\u115f" or "\ua960" <= character <= "\ua97c":
        return "L"
    if "\u1160" <= character <= "\u11a7" or "\ud7b0" <= character <= "\ud7c6":
        return "V"
    if "\u11a8" <= character <= "\u11ff" or "\ud7cb" <= character <= "\ud7fb":
        return "T"
    if "\uac00" <= character <= "\ud7a3":
        return "ST" if (ord(character) - 0xAC00) % 28 else "S"
    return ""
