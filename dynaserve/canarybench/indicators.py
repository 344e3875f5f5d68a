"""Counts of what looks like personal data in a release, canary or not.

Patterns of the kind the CanaryBench paper counts (its own are not public). They find what has
the shape of an email address, a phone number or a ZIP code; they prove nothing and gate nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# A match can only begin where a word does, and fails after a bounded number of characters: time
# is linear whatever the text.
_PATTERNS = {
    "email": re.compile(
        r"(?<![\w.%+-])[\w.%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}"
    ),
    "phone": re.compile(
        r"(?<![\w+])(?!\d{5}-\d{4}(?!\w))"  # no ZIP+4
        r"\+?(?:\(\d{1,4}\)|\d{1,4})(?:[ .\-/]{0,2}(?:\(\d{2,4}\)|\d{2,4})){2,5}(?!\w)"
    ),
    "zip": re.compile(r"(?<![\w-])\d{5}(?:-\d{4})?(?![\w-])"),
}
_PHONE_DIGITS = range(9, 16)  # with fewer, dates and amounts are counted; E.164 has at most 15


def count_indicators(texts: Iterable[str]) -> dict[str, int]:
    """Return how often each kind of indicator stands in the texts.

    Examples
    --------
    >>> count_indicators(["write to ada@example.com", "Springfield, IL 62704"])
    {'email': 1, 'phone': 0, 'zip': 1}
    """
    counts = dict.fromkeys(_PATTERNS, 0)
    for text in texts:
        for kind, pattern in _PATTERNS.items():
            for match in pattern.finditer(text):
                counts[kind] += kind != "phone" or _is_phone(match.group())
    return counts


def _is_phone(text: str) -> bool:
    return sum(character.isdigit() for character in text) in _PHONE_DIGITS
