"""What may not stand in words that a model wrote for publication.

A schema bounds the shape of a reply. This bounds what the reply would put into somebody's text.
"""

from __future__ import annotations

import re
import unicodedata

from dynaserve.rlaa.roles import RoleError
from dynaserve.rlaa.spans import find_mentions, fold

_LONGEST_WHOLE_WORD = 3
"""Characters; so short a value is part of many a harmless word."""
_TYPED = frozenset("\n\t\r\u200c\u200d")
"""Scripts and emoji need the joiners; other invisible characters hide or turn text."""
_REFUSAL = re.compile(
    r"\W*(?:i[’']?m (?:sorry|unable|afraid)|i am (?:sorry|unable|afraid)|sorry\b|my apologies"
    r"|i apologi[sz]e|i (?:cannot|can not|can[’']?t|won[’']?t|will not) (?:\w+ )?(?:help|assist"
    r"|comply|rewrite|do|provide|fulfil|create|share|edit|replace)|as an? (?:ai|language model))",
    re.IGNORECASE,
)


def repeats(text: str, value: str) -> bool:
    """Return whether a text repeats a value, in any spelling; a short one as a whole word."""
    sought = fold(value)
    within = len(sought) > _LONGEST_WHOLE_WORD and sought in fold(text)
    return within or bool(find_mentions(text, value))


def is_refusal(text: str) -> bool:
    """Return whether a text begins as a model does that declines."""
    return _REFUSAL.match(text) is not None


def require_writable(text: str, instead_of: str) -> None:
    """Refuse blank text, and characters that nobody types unless the author did.

    Raises
    ------
    RoleError
        Without words of either text.
    """
    if not fold(text):
        raise RoleError("nothing to be seen")
    for character in set(text) - set(instead_of) - _TYPED:
        if unicodedata.category(character) in {"Cc", "Cf", "Cs"}:
            raise RoleError(f"the character U+{ord(character):04X}, which nobody types")
