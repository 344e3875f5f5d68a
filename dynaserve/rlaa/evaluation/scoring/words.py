"""Words as two spellings of the same thing have them in common."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping

DENIAL = r"(?:not|never|no|nor|neither|isnt|arent|wasnt|non|without)"
"""What denies the words after it, as `plain` leaves it."""
_DENIED = re.compile(
    r"\b(?:not|never|nor|neither|isn['’]?t|no longer|rather than)\b"
    r"(?! (?:far|only|just|sure|certain|necessarily|yet|quite|older|younger|more|less|over)\b)"
    r"[^,;.()/]*?(?=$|[,;.()/]|\b(?:but|and|or|nor|maybe|rather)\b)",
    re.IGNORECASE,
)


def affirmed(text: str) -> str:
    """Return a text without what it denies.

    Examples
    --------
    >>> affirmed("not a nurse but a doctor"), affirmed("Paris, not London")
    ('but a doctor', 'Paris, ')
    """
    return _DENIED.sub("", text)


def plain(text: str) -> str:
    """Return a text in lower case without accents; all but letters and digits become blanks.

    Examples
    --------
    >>> plain("  Zürich (Switzerland), Ph.D. ")
    'zurich switzerland phd'
    """
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    bare = "".join(c for c in decomposed if not unicodedata.combining(c) and c not in "'’.")
    return " ".join(re.sub(r"[\W_]+", " ", bare).split())


def content(
    text: str, *, without: Collection[str] = (), meaning: Mapping[str, str] = {}
) -> tuple[str, ...]:
    """Return the words that matter, in the singular, each by the one name of its meaning.

    Parameters
    ----------
    without
        Words that say nothing here.
    meaning
        Word -> how all words of its meaning are spelled here.
    """
    words = (_singular(word) for word in plain(text).split() if word not in without)
    return tuple(dict.fromkeys(meaning.get(word, word) for word in words if word not in without))


def alike(words: Iterable[str], others: Iterable[str], at_least: float = 85.0) -> bool:
    """Return whether two lists of words are the same but for order and small misspellings."""
    from rapidfuzz import fuzz  # noqa: PLC0415 - optional

    return fuzz.token_sort_ratio(" ".join(words), " ".join(others)) >= at_least


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
