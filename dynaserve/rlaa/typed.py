"""Which characters somebody types, and which only a program writes: those hide or turn a text.

One rule for what a role proposes and for what the loop accepts, so that a role can ask its model
again for what would fail the run.
"""

from __future__ import annotations

import unicodedata

_UNTYPED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories: controls, line breaks and tabs too; invisible characters; halves of pairs."""
_JOINERS = frozenset("\u200c\u200d")
"""Some scripts and emoji are written with them."""
LINES = "\n\t"
"""What a whole text may hold wherever it likes, unlike a few words of one."""


def untyped(text: str, known: str) -> str | None:
    r"""Return by its number a character that nobody types, unless ``known`` holds it; else None.

    Examples
    --------
    >>> untyped("a\u202eb", "a"), untyped("a\nb", "a\nc")
    ('U+202E', None)
    """
    for character in sorted(set(text) - set(known) - _JOINERS):
        if unicodedata.category(character) in _UNTYPED:
            return f"U+{ord(character):04X}"
    return None
