"""The three roles without a model: patterns find, rules grade, tables generalize.

Deterministic, without network or download, in milliseconds per text. It knows what people say
outright and little of what they imply: its recall is measured (``benchmarks.anonymizer_recall``),
not claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dynaserve.rlaa.embedded.reading import Known, read
from dynaserve.rlaa.embedded.wording import fit
from dynaserve.rlaa.records import IDENTIFIER, Edit, Judgement, Leak, Level, Span

_CERTAINTY = {Level.HIGH: 5, Level.MED: 3, Level.LOW: 1, Level.INVALID: 1}
_VALIDITY = {Level.HIGH: 0.95, Level.MED: 0.7, Level.LOW: 0.3, Level.INVALID: 0.05}
_OTHERWISE = {
    "age": "at some age", "sex": "a person", "location": "some place", "birth_place": "some place",
    "education": "some schooling", "occupation": "some work", "income": "some amount",
    "relationship": "a personal matter", IDENTIFIER: "[PRIVATE]",
}  # fmt: skip
"""For evidence that only another attacker sees."""


class EmbeddedEngine:
    """Attacker, Arbitrator and Editor in one, for when there is no model.

    Parameters
    ----------
    year
        In which texts were written, for ages by a year of birth; by default the present one.

    Examples
    --------
    >>> from dynaserve.rlaa.spans import apply, find_mentions
    >>> from dataclasses import replace
    >>> engine, text = EmbeddedEngine(), "I'm 31 and my wife is in Porto."
    >>> judged = engine.judge(text, engine.attack(text, ["age"]))
    >>> located = [replace(j, spans=find_mentions(text, j.leak.evidence)) for j in judged]
    >>> apply(text, engine.edit(text, located))
    "I'm in my thirties and my wife is in Porto."
    """

    def __init__(self, *, year: int | None = None) -> None:
        self._year = year

    def attack(self, text: str, attributes: Sequence[str]) -> Sequence[Leak]:
        """Return what is recognized of these attributes, and direct identifiers always.

        Several mentions of one thing are one leak, as sure as the surest of them.
        """
        wanted = {*attributes, IDENTIFIER}
        return [
            Leak(
                known.finding.attribute,
                known.finding.guess,
                known.evidence,
                _CERTAINTY[known.level],
                known.reason,
            )
            for known in read(text, self._year).known.values()
            if known.finding.attribute in wanted
        ]

    def judge(self, text: str, leaks: Sequence[Leak]) -> Sequence[Judgement]:
        """Grade each leak by the surest mention of its evidence.

        Evidence that no recognizer knows comes from another attacker; it is MED if that attacker
        was certain of it (4 or 5), else LOW.
        """
        reading = read(text, self._year)
        return [_judgement(leak, reading.of(leak)) for leak in leaks]

    def edit(self, text: str, actionable: Sequence[Judgement]) -> Sequence[Edit]:
        """Generalize every span; of spans that overlap, the union is one edit."""
        reading = read(text, self._year)
        wanted = (
            (span, judged.leak, reading.of(judged.leak))
            for judged in actionable
            for span in judged.spans
        )
        return list(_edits(text, wanted))


def _judgement(leak: Leak, known: Known | None) -> Judgement:
    if known is None:
        level = Level.MED if leak.certainty >= 4 else Level.LOW
        return Judgement(leak, level, "as sure as the attacker is", _VALIDITY[level])
    return Judgement(leak, known.level, known.reason, _VALIDITY[known.level])


def _edits(text: str, wanted: Iterable[tuple[Span, Leak, Known | None]]) -> Iterable[Edit]:
    """Merge what overlaps: an identifier names the union, else the longest span does.

    Of leaks that were given the same span, as all of a union are by the loop, it is the one that
    most of the words are evidence of: "Paris, France" rather than every "Paris".
    """
    groups: list[list[tuple[Span, Leak, Known | None]]] = []
    end = -1
    for item in sorted(wanted, key=lambda item: item[0]):
        if groups and item[0].start < end:
            groups[-1].append(item)
        else:
            groups.append([item])
        end = max(end, item[0].end)
    for group in groups:
        span = Span(group[0][0].start, max(item[0].end for item in group))
        _, leak, known = max(
            group,
            key=lambda item: (
                item[1].attribute == IDENTIFIER,
                item[0].end - item[0].start,
                len(item[1].evidence),
            ),
        )
        before = text[span.start : span.end]
        general = known.finding.instead if known else _OTHERWISE[leak.attribute]
        after = fit(general, text, span.start, span.end)
        yield Edit(span, before, after, leak.attribute)
