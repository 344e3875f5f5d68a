"""A find in a text, and what becomes of finds that overlap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """Code points ``start`` to ``end`` of a text, and what they look like."""

    start: int
    end: int
    label: str


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return the union of spans, sorted; where several overlap, the earliest given names it."""
    union: list[Span] = []
    names: list[int] = []
    for rank, span in sorted(enumerate(spans), key=lambda ranked: ranked[1].start):
        if not union or span.start >= union[-1].end:
            union.append(span)
            names.append(rank)
            continue
        last = union[-1]
        label = span.label if rank < names[-1] else last.label
        union[-1] = Span(last.start, max(last.end, span.end), label)
        names[-1] = min(names[-1], rank)
    return union
