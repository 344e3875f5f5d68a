"""The paper's Anonymizer in two forms, neither of which is taken at its word.

An editor replaces the spans of actionable leaks, all of them and nothing else; a rewriter writes
the text anew. What breaks the contract fails the run at once: asking again is for the role, which
has another seed. Whether a leak is closed is not decided here, but by the next attack.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from dynaserve.rlaa.alignment import difference
from dynaserve.rlaa.asking import asking, require
from dynaserve.rlaa.chunks import Chunks
from dynaserve.rlaa.examination import severity
from dynaserve.rlaa.pseudonyms import Pseudonyms
from dynaserve.rlaa.records import Edit, Judgement, Span
from dynaserve.rlaa.roles import Editor, Rewriter
from dynaserve.rlaa.spans import Folded, fold, merged, moved, shifted, touched
from dynaserve.rlaa.typed import LINES, untyped

_EDITOR, _REWRITER = "editor", "rewriter"


class Change(Protocol):
    """One way to take actionable leaks out of a text."""

    def __call__(
        self, text: str, actionable: Sequence[Judgement], chunks: Chunks
    ) -> tuple[Edit, ...]:
        """Return the edits, in order and apart.

        Raises
        ------
        RunFailedError
            If the role raises, or answers with anything but what its protocol says.
        TooLongError, TooMuchError
            If a sentence alone is too long, or too much, for the role.
        """
        ...


class Edits:
    """Asks an editor, and keeps its answers consistent within one text.

    Spans that overlap or touch are one: every judgement that reaches into it shows the editor
    all of it, and one edit answers them all. The edit counts for the gravest, then the first.
    A value that was replaced before, in any spelling, gets the same words again. Nothing becomes
    the words for a value unless it may stand in its place.
    """

    def __init__(self, editor: Editor, pseudonyms: Pseudonyms | None = None) -> None:
        self._editor = editor
        self._pseudonyms = pseudonyms
        self._chosen: dict[tuple[str, str], str] = {}

    def __call__(
        self, text: str, actionable: Sequence[Judgement], chunks: Chunks
    ) -> tuple[Edit, ...]:
        """See `Change`."""
        regions = merged(span for judged in actionable for span in judged.spans)
        wanted = [_widened(judged, regions) for judged in sorted(actionable, key=severity)]
        answers: dict[Span, Edit] = {}

        def ask(piece: Span) -> None:
            inside = _inside(wanted, piece, done=answers)
            if inside:
                part = text[piece.start : piece.end]
                for edit in self._asked(part, inside):
                    answers[shifted(edit.span, piece.start)] = moved(edit, piece.start)

        chunks.each(text, ask, whole=regions)
        owner = {span: judged for judged in reversed(wanted) for span in judged.spans}
        return tuple(self._final(answers[span], owner[span]) for span in regions)

    def _asked(self, part: str, judgements: Sequence[Judgement]) -> Sequence[Edit]:
        """Return one edit for each span of the judgements, checked."""
        with asking(_EDITOR):
            reply = self._editor.edit(part, tuple(judgements))
            require(isinstance(reply, (list, tuple)), _EDITOR, "answered with no list of edits")
            for edit in reply:
                _require_edit(edit, part)
        given = sorted(edit.span for edit in reply)
        spans = sorted({span for judged in judgements for span in judged.spans})
        require(set(given) <= set(spans), _EDITOR, "edited what it was not asked to")
        require(set(given) == set(spans), _EDITOR, "left a span as it was")
        require(len(given) == len(spans), _EDITOR, "edited a span twice")
        return reply

    def _final(self, edit: Edit, owner: Judgement) -> Edit:
        attribute = owner.leak.attribute
        fault = _fault(edit.after, edit.before)
        require(not fault, _EDITOR, fault)
        after = self._consistent(attribute, edit.before, edit.after)
        return Edit(edit.span, edit.before, after, attribute)

    def _consistent(self, attribute: str, before: str, after: str) -> str:
        """Return what replaced the value before, in this spelling if only the spelling differs.

        What may not stand here, as it came from where more could, is left for the proposal.
        """
        value = (attribute, fold(before))
        if value not in self._chosen:
            self._chosen[value] = after
            if self._pseudonyms:
                with asking("pseudonyms"):
                    self._chosen[value] = self._pseudonyms.replacement(attribute, before, after)
        chosen = self._chosen[value]
        return after if fold(after) == fold(chosen) or _fault(chosen, before) else chosen


class Rewrite:
    """Asks a rewriter; pieces of a long text without actionable leaks stay as they are."""

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter = rewriter

    def __call__(
        self, text: str, actionable: Sequence[Judgement], chunks: Chunks
    ) -> tuple[Edit, ...]:
        """See `Change`; the edits are the words that differ."""
        regions = merged(span for judged in actionable for span in judged.spans)

        def ask(piece: Span) -> str:
            part = text[piece.start : piece.end]
            inside = _inside(sorted(actionable, key=severity), piece)
            return self._asked(part, inside) if inside else part

        pieces = chunks.each(text, ask, whole=regions, overlap=False)
        edits = difference(text, "".join(pieces))
        require(bool(edits), _REWRITER, "left the text as it was")
        return tuple(_named(edits, sorted(actionable, key=severity)))

    def _asked(self, part: str, judgements: Sequence[Judgement]) -> str:
        """Return the part written anew, with the white space that was around it."""
        with asking(_REWRITER):
            reply = self._rewriter.rewrite(part, tuple(judgements))
            require(type(reply) is str, _REWRITER, "answered with no text")
            require(bool(reply.strip()), _REWRITER, "answered with an empty text")
            character = untyped(reply, part + LINES)
            require(character is None, _REWRITER, f"introduced the character {character}")
        core = part.strip()
        before, _, after = part.partition(core)
        return before + reply.strip() + after


def _widened(judged: Judgement, regions: Sequence[Span]) -> Judgement:
    numbers = {number for span in judged.spans for number in touched(regions, span)}
    return replace(judged, spans=tuple(regions[number] for number in sorted(numbers)))


def _inside(
    judgements: Iterable[Judgement], piece: Span, done: Iterable[Span] = ()
) -> list[Judgement]:
    """Return judgements with their spans in a piece of the text, as positions of the piece."""
    finished = frozenset(done)
    inside = []
    for judged in judgements:
        spans = tuple(
            shifted(span, -piece.start)
            for span in judged.spans
            if piece.start <= span.start and span.end <= piece.end and span not in finished
        )
        if spans:
            inside.append(replace(judged, spans=spans))
    return inside


def _named(edits: Sequence[Edit], judgements: Sequence[Judgement]) -> list[Edit]:
    """Return edits with the attribute of the gravest judgement whose evidence each touches."""
    spans = [edit.span for edit in edits]
    names: dict[int, str] = {}
    for judged in judgements:
        for span in judged.spans:
            for number in touched(spans, span):
                names.setdefault(number, judged.leak.attribute)
    return [replace(edit, attribute=names.get(n, "")) for n, edit in enumerate(edits)]


def _require_edit(edit: object, part: str) -> None:
    require(isinstance(edit, Edit), _EDITOR, "an edit of an unexpected type")
    assert isinstance(edit, Edit)  # noqa: S101 - for the type checker
    span = edit.span
    places = isinstance(span, Span) and type(span.start) is int and type(span.end) is int
    require(places, _EDITOR, "an edit without a place")
    require(type(edit.after) is str, _EDITOR, "a replacement that is no text")
    inside = 0 <= span.start <= span.end <= len(part)
    require(inside, _EDITOR, "an edit outside the text")
    quoted = edit.before == part[span.start : span.end]
    require(quoted, _EDITOR, "an edit of other words than stand there")


def _fault(after: str, before: str) -> str:
    """Return why a replacement may not stand in place of some words; empty if it may."""
    if character := untyped(after, before):
        return f"introduced the character {character}"
    return "repeated what it was to replace" if Folded(after).repeats(before) else ""
