"""What may not stand in words that a model wrote for publication.

A schema bounds the shape of a reply. This bounds what the reply would put into somebody's text.
"""

from __future__ import annotations

import re
import unicodedata

from dynaserve.rlaa.model_roles.disguises import in_disguise
from dynaserve.rlaa.roles import RoleError
from dynaserve.rlaa.spans import find_mentions, fold
from dynaserve.rlaa.typed import untyped

_LONGEST_WHOLE_WORD = 3
"""Characters; so short a value is part of many a harmless word."""
_REFUSAL = re.compile(
    r"\W*(?:i[’']?m (?:sorry|unable|afraid)|i am (?:sorry|unable|afraid)|sorry\b|my apologies"
    r"|i apologi[sz]e|i (?:cannot|can not|can[’']?t|won[’']?t|will not) (?:\w+ )?(?:help|assist"
    r"|comply|rewrite|do|provide|fulfil|create|share|edit|replace)|as an? (?:ai|language model))",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"n\W*a|none|null|nil|undefined|unspecified|unknown|redacted|removed|omitted|withheld|censored"
    r"|anonymi[sz]ed|generali[sz]ed|placeholder|replacement|string|x{2,}|tb[ad]|todo"
    r"|(?:not|no longer) (?:applicable|specified|available|mentioned|provided|disclosed)"
)
_FRAMED = re.compile(r"\[[^\]]*\]|\{[^}]*\}|<[^>]*>?|^\(.*\)$", re.DOTALL)
"""What stands for words, or tells a program something: ``[city]``, ``{name}``, ``<img ...>``."""


def repeats(text: str, value: str) -> bool:
    """Return whether a text repeats a value, in any spelling; a short one as a whole word."""
    sought = fold(value)
    within = len(sought) > _LONGEST_WHOLE_WORD and sought in fold(text)
    return within or bool(find_mentions(text, value)) or in_disguise(text, value)


def is_placeholder(text: str, instead_of: str) -> bool:
    """Return whether a text only marks that something is missing, or frames words as a form does.

    What the author framed so may stay.
    """
    if _PLACEHOLDER.fullmatch(fold(text).strip(" \"'.,:;!?*_-")):
        return True
    if any(framed not in instead_of for framed in _FRAMED.findall(text)):
        return True
    return any(map(str.isalnum, instead_of)) and not any(map(_says, text))


def _says(character: str) -> bool:
    return unicodedata.category(character)[0] in "LN" or unicodedata.category(character) == "So"


def is_refusal(text: str) -> bool:
    """Return whether a text begins as a model does that declines."""
    return _REFUSAL.match(text) is not None


def require_writable(text: str, instead_of: str) -> None:
    """Refuse blank text, and characters that nobody types unless the author did (`untyped`).

    Raises
    ------
    RoleError
        Without words of either text.
    """
    if not fold(text):
        raise RoleError("nothing to be seen")
    if character := untyped(text, instead_of):
        raise RoleError(f"the character {character}, which nobody types there")
