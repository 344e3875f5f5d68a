"""Whether a replacement spells what it replaces in a way that a reader still understands.

With letters of another script or digits for letters, pulled apart, or backwards. It is asked
about a few words that a model wrote, where one that is refused for nothing costs another try.
"""

from __future__ import annotations

import re

from dynaserve.rlaa.spans import fold

_CYRILLIC = "авекмнорстухіјѕһԁԛԝӏ", "abekmhopctyxijshdqwl"
_GREEK = "αβγεικνορτυχω", "abyeikvoptuxw"
_CAPITALS = str.maketrans("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abezhikmnoptyx")
"""Greek ones, several of which look like another letter than their small ones do."""
_SMALL = str.maketrans(_CYRILLIC[0] + _GREEK[0], _CYRILLIC[1] + _GREEK[1])
_DIGITS = str.maketrans("013457$@!|", "oleastsail")
_LETTERS_FOR_DIGITS, _LETTERS_BACKWARDS = 3, 4
"""Letters that a value needs, or harmless words would be its disguise."""
_WORD = re.compile(r"[^\W_]+")


def in_disguise(text: str, value: str) -> bool:
    """Return whether a text spells a value with look-alikes, in pieces, or backwards.

    Examples
    --------
    >>> [in_disguise(text, "Porto") for text in ("Por to", "P0rto", "otroP", "a port on a coast")]
    [True, True, True, False]
    """
    letters = sum(map(str.isalpha, value))
    digits = _DIGITS if letters >= _LETTERS_FOR_DIGITS else {}
    words = _WORD.findall(_seen(text, digits))
    sought = "".join(_WORD.findall(_seen(value, digits)))
    if not sought:
        return False
    within = letters >= _LETTERS_BACKWARDS and any(sought in word for word in words)
    backwards = letters >= _LETTERS_BACKWARDS and _spelled(words, sought[::-1])
    return within or backwards or _spelled(words, sought)


def _seen(text: str, digits: dict[int, int]) -> str:
    return fold(text.translate(_CAPITALS)).translate(_SMALL).translate(digits)


def _spelled(words: list[str], sought: str) -> bool:
    """Return whether some neighbouring words, put together, are what is sought."""
    begins, at = [], 0
    for word in words:
        begins.append(at)
        at += len(word)
    together, ends = "".join(words), {*begins, at}
    return any(
        together.startswith(sought, begin) and begin + len(sought) in ends for begin in begins
    )
