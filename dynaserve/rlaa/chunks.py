"""Long texts in pieces that a model can read whole, cut between sentences, with overlap.

Nothing is ever left out: a sentence that does not fit alone is an error, not a shorter text.
How much fits is learned from the refusals (`TooLongError`, which costs no computation, and
`TooMuchError`), so that it needs to know neither the prompts of a role nor its tokenizer.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import TypeVar

from dynaserve.rlaa.llm.protocol import TooLongError
from dynaserve.rlaa.records import Span
from dynaserve.rlaa.roles import TooMuchError

Answer = TypeVar("Answer")

_SMALLER = 0.9
"""How much of its size a piece that was refused comes again with, at most."""
_END = re.compile(
    r"(?<![.!?…؟।])[.!?…؟।]+[\"'”’»)\]]*\s+"  # scripts with spaces
    r"|(?<![。！？])[。！？]+[”’」』)）]*\s*"  # and without
    r"|\n\s*"
)


class Chunks:
    """How much of a text is asked about at once; one object per text.

    It begins with all of the text and learns from every refusal.
    """

    def __init__(self) -> None:
        self._size: int | None = None

    def each(
        self,
        text: str,
        ask: Callable[[Span], Answer],
        *,
        whole: Iterable[Span] = (),
        overlap: bool = True,
    ) -> list[Answer]:
        """Return what ``ask`` says about each piece of a text, in order.

        Parameters
        ----------
        text
            All of it.
        ask
            Gets the span of a piece. The pieces cover the text; a piece that it refused by
            `TooLongError` or `TooMuchError` comes again in smaller ones.
        whole
            Spans that may not be cut.
        overlap
            Whether a piece repeats the last sentence of the one before, so that what stands on
            both sides of a cut is seen together.

        Raises
        ------
        TooLongError, TooMuchError
            If a single sentence is too long, or says too much, as its reader said.
        """
        ends = _ends(text, whole)
        answers: list[Answer] = []
        pieces = _packed(ends, 0, self._size or len(text), overlap=overlap)
        while pieces:
            piece = pieces.pop(0)
            try:
                answers.append(ask(piece))
            except (TooLongError, TooMuchError) as error:
                if bisect_right(ends, piece.start) == bisect_left(ends, piece.end):
                    raise
                self._size = int((piece.end - piece.start) * _share(error))
                pieces = _packed(ends, piece.start, self._size, overlap=overlap)
        return answers


def _share(error: TooLongError | TooMuchError) -> float:
    """Return how much of a piece that was refused may do."""
    if isinstance(error, TooMuchError):
        return 0.5
    return min(error.limit / max(error.tokens, 1), _SMALLER)


def sentences(text: str) -> list[Span]:
    """Return the sentences of a text; white space after one belongs to it, so nothing is left out.

    Examples
    --------
    >>> sentences("Hello there! I am 31.")
    [Span(start=0, end=13), Span(start=13, end=21)]
    """
    ends = _ends(text, ())
    return [Span(start, end) for start, end in zip([0, *ends], ends, strict=False)]


def _ends(text: str, whole: Iterable[Span]) -> list[int]:
    """Return where sentences end, the last one at the end of the text."""
    ends = [match.end() for match in _END.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    for span in whole:
        del ends[bisect_right(ends, span.start) : bisect_left(ends, span.end)]
    return ends


def _packed(ends: list[int], start: int, size: int, *, overlap: bool) -> list[Span]:
    """Return pieces from ``start`` on, of ``size`` characters or of one sentence that is longer."""
    pieces: list[Span] = []
    first = bisect_right(ends, start)
    while first < len(ends):
        last = max(bisect_right(ends, start + size) - 1, first)
        pieces.append(Span(start, ends[last]))
        first = last + 1
        start = ends[last]
        if overlap and first < len(ends):
            repeated = ends[last - 1] if last else 0
            if ends[first] - repeated <= size and repeated > pieces[-1].start:
                start = repeated
    return pieces
