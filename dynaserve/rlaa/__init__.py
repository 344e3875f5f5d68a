"""RLAA: takes out of a text what gives its author away, on the machine it is written on.

An attacker guesses, an arbitrator grades, an editor generalizes, and every round is weighed: after
"Look Twice before You Leap" (arXiv 2512.06713). The names below load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynaserve.rlaa.loop import Anonymizer
    from dynaserve.rlaa.pseudonyms import Pseudonyms
    from dynaserve.rlaa.records import (
        ATTRIBUTES,
        IDENTIFIER,
        Edit,
        Judgement,
        Leak,
        LedgerEntry,
        Level,
        Result,
        Round,
        Span,
        Status,
    )
    from dynaserve.rlaa.roles import RoleError
    from dynaserve.rlaa.spans import utf16
    from dynaserve.rlaa.utility import Utility

_HOME = {
    "ATTRIBUTES": "records",
    "Anonymizer": "loop",
    "Edit": "records",
    "IDENTIFIER": "records",
    "Judgement": "records",
    "Leak": "records",
    "LedgerEntry": "records",
    "Level": "records",
    "Pseudonyms": "pseudonyms",
    "Result": "records",
    "RoleError": "roles",
    "Round": "records",
    "Span": "records",
    "Status": "records",
    "Utility": "utility",
    "utf16": "spans",
}

__all__ = [
    "ATTRIBUTES",
    "IDENTIFIER",
    "Anonymizer",
    "Edit",
    "Judgement",
    "Leak",
    "LedgerEntry",
    "Level",
    "Pseudonyms",
    "Result",
    "RoleError",
    "Round",
    "Span",
    "Status",
    "Utility",
    "utf16",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
