"""What a person reviews: the places of a text that give something away, and what could stand there.

It answers for results that are not releasable too, so it is for whoever sent the text, and holds
what the roles say about it. It never says that a text may be published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dynaserve.rlaa.alignment import compose
from dynaserve.rlaa.records import Edit, Judgement, Level, Result, Span
from dynaserve.serving.anonymized import offsets, reason

GRAVITY = (Level.INVALID, Level.LOW, Level.MED, Level.HIGH)


@dataclass(frozen=True)
class Mark:
    """A place of the original text.

    Attributes
    ----------
    span
        Where it is. It overlaps no other mark.
    leaks
        What it gives away.
    edit
        What could stand there instead.
    open
        Whether a leak is left even then.
    """

    span: Span
    leaks: tuple[Judgement, ...] = ()
    edit: Edit | None = None
    open: bool = False

    @property
    def level(self) -> Level:
        """The gravest of its leaks; what was edited without one was taken to be grave."""
        levels = [judged.level for judged in self.leaks]
        return max(levels, key=GRAVITY.index, default=Level.HIGH)


def proposals(text: str, result: Result) -> dict[str, Any]:
    """Return what came of a text as decisions that are left to a person."""
    return {
        "status": result.status.value,
        "reason": "" if result.releasable else reason(result),
        "marks": [described(text, mark) for mark in marks(text, result)],
    }


def described(text: str, mark: Mark) -> dict[str, Any]:
    """Return a mark as the page takes it."""
    return {
        **offsets(text, mark.span),
        "level": mark.level.value,
        "leaks": [
            {
                "attribute": judged.leak.attribute,
                "level": judged.level.value,
                "validity": judged.validity,
                "guess": judged.leak.guess,
                "reason": judged.reason,
            }
            for judged in mark.leaks
        ],
        "after": None if mark.edit is None else mark.edit.after,
        "open": mark.open,
    }


def marks(text: str, result: Result) -> list[Mark]:
    """Return the places of the original text in order, edited ones and those left as they are.

    The edits that the last round did not keep, because they cost too much, are proposals too: it
    is for a person to say whether they do.
    """
    found: list[tuple[Span, Judgement]] = []
    kept: tuple[Edit, ...] = ()
    proposed = kept
    for turn in result.rounds:
        found += (
            (span, judged)
            for span, judged in located(turn.judgements, kept)
            if not any(meet(span, edit.span) for edit in kept)  # about a replacement
        )
        proposed = compose(text, kept, turn.edits)
        kept = proposed if turn.kept else kept
    left = located(result.residual, kept)
    places = [Mark(edit.span, edit=edit) for edit in proposed]
    places += apart(
        span for span, _ in (*found, *left) if not any(meet(span, edit.span) for edit in proposed)
    )
    return [
        replace(
            mark,
            leaks=distinct(judged for span, judged in (*found, *left) if meet(span, mark.span)),
            open=mark.edit in kept and any(meet(span, mark.span) for span, _ in left),
        )
        for mark in sorted(places, key=lambda mark: mark.span)
    ]


def located(judgements: Iterable[Judgement], made: Sequence[Edit]) -> list[tuple[Span, Judgement]]:
    """Return judgements of what came of some edits, each with its places in the original."""
    return [(origin(span, made), judged) for judged in judgements for span in judged.spans]


def origin(span: Span, made: Sequence[Edit]) -> Span:
    """Return the place in the original that a place after some edits comes from.

    What begins or ends inside of a replacement takes in all that was replaced.
    """
    start, end, shift = span.start, span.end, 0
    for edit in made:
        first = edit.span.start + shift
        last = first + len(edit.after)
        if first <= span.start < last:
            start = edit.span.start
        elif last <= span.start:
            start = span.start - shift - len(edit.after) + len(edit.before)
        if first < span.end <= last:
            end = edit.span.end
        elif last < span.end:
            end = span.end - shift - len(edit.after) + len(edit.before)
        shift += len(edit.after) - len(edit.before)
    return Span(start, end)


def apart(spans: Iterable[Span]) -> list[Mark]:
    """Return a mark for each place; those that overlap are one."""
    union: list[Span] = []
    for span in sorted(spans):
        if union and span.start < union[-1].end:
            union[-1] = Span(union[-1].start, max(union[-1].end, span.end))
        else:
            union.append(span)
    return [Mark(span) for span in union]


def meet(one: Span, other: Span) -> bool:
    """Whether two places share a character."""
    return one.start < other.end and other.start < one.end


def distinct(judgements: Iterable[Judgement]) -> tuple[Judgement, ...]:
    """Return the gravest judgement of each conclusion, as rounds repeat them, the gravest first."""
    best: dict[tuple[str, str], Judgement] = {}
    for judged in judgements:
        conclusion = (judged.leak.attribute, judged.leak.guess)
        known = best.setdefault(conclusion, judged)
        if GRAVITY.index(judged.level) > GRAVITY.index(known.level):
            best[conclusion] = judged
    return tuple(sorted(best.values(), key=lambda each: -GRAVITY.index(each.level)))
