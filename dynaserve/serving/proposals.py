"""What a person reviews: the places of a text that give something away, and what could stand there.

It answers for results that are not releasable too, so it is for whoever sent the text, and holds
what the roles say about it. It never says that a text may be published.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter
from typing import Any

from dynaserve.rlaa.alignment import compose
from dynaserve.rlaa.records import Edit, Judgement, Level, Result, Span
from dynaserve.rlaa.spans import touched
from dynaserve.serving.anonymized import offsets


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
    kept
        Whether the loop made the edit, and so attacked what came of it. One that it took back,
        because it cost too much, is no more checked than a person's own.
    """

    span: Span
    leaks: tuple[Judgement, ...] = ()
    edit: Edit | None = None
    open: bool = False
    kept: bool = False

    @property
    def level(self) -> Level:
        """The gravest of its leaks.

        What was edited for an attribute without one was taken to be grave; what a rewrite changed
        in passing gives nothing away.
        """
        named = self.edit is not None and self.edit.attribute
        levels = [judged.level for judged in self.leaks]
        return max(levels, key=attrgetter("gravity"), default=Level.HIGH if named else Level.LOW)


def proposals(text: str, result: Result) -> dict[str, Any]:
    """Return what came of a text as decisions that are left to a person."""
    return {
        "status": result.status.value,
        "reason": "" if result.releasable else result.reason,
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
        "kept": mark.kept,
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
        replaced = places(kept)
        found += (
            (span, judged)
            for span, judged in located(turn.judgements, kept)
            if not touched(replaced, span)  # or it is about a replacement
        )
        proposed = compose(text, kept, turn.edits)
        kept = proposed if turn.kept else kept
    left = located(result.residual, kept)
    edits = {edit.span: edit for edit in proposed}
    standing = apart(span for span, _ in (*found, *left) if not touched(places(proposed), span))
    spans = sorted((*edits, *standing))
    leaks = meeting(spans, (*found, *left))
    still = meeting(spans, left)
    made = frozenset(kept)
    return [
        Mark(
            span,
            distinct(leaks[number]),
            edit := edits.get(span),
            open=edit in made and bool(still[number]),
            kept=edit in made,
        )
        for number, span in enumerate(spans)
    ]


def places(edits: Iterable[Edit]) -> list[Span]:
    """Return where edits are."""
    return [edit.span for edit in edits]


def located(judgements: Iterable[Judgement], made: Sequence[Edit]) -> list[tuple[Span, Judgement]]:
    """Return judgements of what came of some edits, each with its places in the original."""
    origin = Origins(made)
    return [(origin(span), judged) for judged in judgements for span in judged.spans]


class Origins:
    """Takes a place after some edits, in order and apart, to where it comes from."""

    def __init__(self, made: Sequence[Edit]) -> None:
        grown = accumulate((len(edit.after) - len(edit.before) for edit in made), initial=0)
        self._made, self._shifts = made, list(grown)
        self._firsts = [
            edit.span.start + shift for edit, shift in zip(made, self._shifts, strict=False)
        ]

    def __call__(self, span: Span) -> Span:
        """Return the place in the original.

        What begins or ends inside of a replacement takes in all that was replaced.
        """
        start, end = span.start, span.end
        begun, ended = bisect_right(self._firsts, start), bisect_left(self._firsts, end)
        if begun and start < self._last(begun - 1):
            start = self._made[begun - 1].span.start
        else:
            start -= self._shifts[begun]
        if ended and end <= self._last(ended - 1):
            end = self._made[ended - 1].span.end
        else:
            end -= self._shifts[ended]
        return Span(start, end)

    def _last(self, number: int) -> int:
        return self._firsts[number] + len(self._made[number].after)


def apart(spans: Iterable[Span]) -> list[Span]:
    """Return the union of places, in order.

    Unlike `spans.merged` those that only touch stay two: a rewrite may insert words between them.
    """
    union: list[Span] = []
    for span in sorted(spans):
        if union and span.start < union[-1].end:
            union[-1] = Span(union[-1].start, max(union[-1].end, span.end))
        else:
            union.append(span)
    return union


def meeting(
    spans: Sequence[Span], judgements: Iterable[tuple[Span, Judgement]]
) -> list[list[Judgement]]:
    """Return for each of some spans, in order and apart, what is judged about a part of it."""
    about: list[list[Judgement]] = [[] for _ in spans]
    for place, judged in judgements:
        for number in touched(spans, place):
            about[number].append(judged)
    return about


def distinct(judgements: Iterable[Judgement]) -> tuple[Judgement, ...]:
    """Return the gravest judgement of each conclusion, as rounds repeat them, the gravest first."""
    best: dict[tuple[str, str], Judgement] = {}
    for judged in judgements:
        conclusion = (judged.leak.attribute, judged.leak.guess)
        known = best.setdefault(conclusion, judged)
        if judged.level.gravity > known.level.gravity:
            best[conclusion] = judged
    return tuple(sorted(best.values(), key=lambda each: -each.level.gravity))
