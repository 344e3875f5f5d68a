"""What two versions of a text have in common, word by word, and the edits between them.

Composed or compared, edits always lead from the one text to the other exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from dynaserve.rlaa.records import Edit, Span
from dynaserve.rlaa.spans import apply, moved

_FEW = 64
"""Differences to expect. Of texts that differ in few words it makes the time linear; of others the
hint only grows."""
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def difference(before: str, after: str) -> tuple[Edit, ...]:
    """Return the replacements of words that lead from one text to another, without attributes.

    Examples
    --------
    >>> [edit.after for edit in difference("I live in Porto now.", "I live in Portugal now.")]
    ['Portugal']
    """
    return tuple(
        Edit(Span(start, end), before[start:end], after[first:last], "")
        for start, end, first, last in _changes(before, after)
    )


def kept(before: str, after: str) -> float:
    """Return the share of a text's characters that stand in another, in the same order."""
    if not before:
        return float(not after)
    return 1 - sum(end - start for start, end, _, _ in _changes(before, after)) / len(before)


def compose(text: str, first: Sequence[Edit], then: Sequence[Edit]) -> tuple[Edit, ...]:
    """Return the edits of a text that amount to ``first`` and, on what came of it, ``then``.

    Edits that touch become one, which has the attribute of the earliest.
    """
    middle = apply(text, first)
    placed = sorted(first, key=lambda edit: edit.span)
    shifts = list(accumulate((len(e.after) - len(e.before) for e in placed), initial=0))
    # All in the coordinates of the middle, where every edit of either side has its place.
    landed = [
        (Span(at := e.span.start + shift, at + len(e.after)), e)
        for e, shift in zip(placed, shifts, strict=False)
    ]
    later = sorted(((e.span, e) for e in then), key=lambda pair: pair[0])
    composed = []
    shift = 0
    for group in _groups([(s, e, True) for s, e in landed] + [(s, e, False) for s, e in later]):
        start, end = group[0][0].start, max(span.end for span, _, _ in group)
        inner = [moved(edit, -start) for _, edit, early in group if not early]
        grown = sum(len(edit.after) - len(edit.before) for _, edit, early in group if early)
        span = Span(start - shift, end - shift - grown)
        shift += grown
        before, after = text[span.start : span.end], apply(middle[start:end], inner)
        if before != after:
            attribute = min(group, key=lambda one: not one[2])[1].attribute
            composed.append(Edit(span, before, after, attribute))
    return tuple(composed)


def _groups(
    placed: list[tuple[Span, Edit, bool]],
) -> Iterator[list[tuple[Span, Edit, bool]]]:
    """Yield what overlaps or touches together, in order."""
    group: list[tuple[Span, Edit, bool]] = []
    end = -1
    for one in sorted(placed, key=lambda one: one[0]):
        if group and one[0].start > end:
            yield group
            group = []
        group.append(one)
        end = max(end, one[0].end) if len(group) > 1 else one[0].end
    if group:
        yield group


def _changes(before: str, after: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield [start, end) of the one and [first, last) of the other, wherever they differ."""
    # RapidFuzz comes with the extra; the base installation reads records without it.
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415

    numbers: dict[str, int] = {}
    sides = [_WORDS.findall(text) for text in (before, after)]
    ids = [[numbers.setdefault(word, len(numbers)) for word in words] for words in sides]
    places = [list(accumulate(map(len, words), initial=0)) for words in sides]
    for block in Levenshtein.opcodes(*ids, score_hint=_FEW):
        if block.tag != "equal":
            yield (
                places[0][block.src_start],
                places[0][block.src_end],
                places[1][block.dest_start],
                places[1][block.dest_end],
            )
