"""What may be said of a run of the anonymizer: of one that may be published, and of one not.

The one place that turns a `Result` into JSON-able values for others than the author of the text.
Nothing here may hold a word of the original text, nor of the text of a result that is not
releasable.
"""

from __future__ import annotations

import math
from typing import Any

from dynaserve.rlaa.records import Edit, Judgement, Result, Round, Span
from dynaserve.rlaa.spans import apply, utf16


def text_of(original: str, result: Result) -> str:
    """Return the text that may be published.

    Raises
    ------
    ValueError
        If the result is not releasable, or its text is another than its edits make of the
        original.
    """
    if not result.releasable or result.text is None:
        raise ValueError("the result may not be published")
    if apply(original, result.edits) != result.text:
        raise ValueError("the text of the result is not what its edits make")
    return result.text


def published(original: str, result: Result) -> dict[str, Any]:
    """Return a releasable result: its text, what was replaced in the original, and the ledger.

    Raises
    ------
    ValueError
        As `text_of`.
    """
    return {
        "text": text_of(original, result),
        "edits": [replacement(original, edit) for edit in result.edits],
        "rounds": [ledger(each) for each in result.rounds],
        "status": result.status.value,
    }


def withheld_because(result: Result) -> dict[str, Any]:
    """Return why nothing is published: status, reason, and the grades of what is left open."""
    return {
        "status": result.status.value,
        "reason": result.reason,
        "open": [grade(each) for each in result.residual],
        "rounds": [ledger(each) for each in result.rounds],
    }


def offsets(text: str, span: Span) -> dict[str, int]:
    """Return where a span is, in code points and in UTF-16 units."""
    units = utf16(text, span)
    return {
        "start": span.start,
        "end": span.end,
        "utf16_start": units.start,
        "utf16_end": units.end,
    }


def replacement(text: str, edit: Edit) -> dict[str, Any]:
    """Return an edit of a text. What stood there is for those to look up who have the text."""
    return {**offsets(text, edit.span), "after": edit.after, "attribute": edit.attribute}


def grade(judged: Judgement) -> dict[str, str]:
    """Return what kind of leak it is and how much it matters, not what it says."""
    return {"attribute": judged.leak.attribute, "level": judged.level.value}


def ledger(turn: Round) -> dict[str, Any]:
    """Return what a round found, did, gained and paid."""
    return {
        "leaks": [grade(each) for each in turn.judgements],
        "edits": len(turn.edits),
        "kept": turn.kept,
        "mpg": figure(turn.mpg),
        "muc": figure(turn.muc),
        "mrs": figure(turn.mrs),
    }


def figure(value: float | None) -> float | str | None:
    """Return a number as JSON has it; it has no infinity."""
    return "infinite" if value is not None and math.isinf(value) else value
