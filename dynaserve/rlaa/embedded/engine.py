"""The three roles without a model: patterns find, rules grade, tables generalize.

Deterministic, without network or download, in milliseconds per text. It knows what people say
outright and little of what they imply: its recall is measured (``benchmarks.anonymizer_recall``),
not claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.grading import grade
from dynaserve.rlaa.embedded.recognizers import RECOGNIZERS
from dynaserve.rlaa.embedded.wording import fit, plain
from dynaserve.rlaa.records import IDENTIFIER, Edit, Judgement, Leak, Level, Span
from dynaserve.rlaa.spans import fold

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

    def attack(self, text: str, attributes: Sequence[str]) -> Sequence[Leak]:
        """Return what is recognized of these attributes, and direct identifiers always.

        Several mentions of one thing are one leak, as sure as the surest of them.
        """
        wanted = {*attributes, IDENTIFIER}
        simple = plain(text)
        surest: dict[tuple[str, str], tuple[Level, Leak]] = {}
        for finding in _findings(text):
            if finding.attribute not in wanted:
                continue
            level, reason = grade(simple, finding)
            evidence = text[finding.start : finding.end]
            leak = Leak(finding.attribute, finding.guess, evidence, _CERTAINTY[level], reason)
            key = (finding.attribute, fold(evidence))
            if key not in surest or level.gravity > surest[key][0].gravity:
                surest[key] = (level, leak)
        return [leak for _, leak in surest.values()]

    def judge(self, text: str, leaks: Sequence[Leak]) -> Sequence[Judgement]:
        """Grade each leak by the surest mention of its evidence.

        Evidence that no recognizer knows comes from another attacker; it is MED if that attacker
        was certain of it (4 or 5), else LOW.
        """
        simple = plain(text)
        grades: dict[tuple[str, str], tuple[Level, str]] = {}
        for finding in _findings(text):
            key = (finding.attribute, fold(text[finding.start : finding.end]))
            level, reason = grade(simple, finding)
            if key not in grades or level.gravity > grades[key][0].gravity:
                grades[key] = (level, reason)
        return [
            _judgement(leak, grades.get((leak.attribute, fold(leak.evidence)))) for leak in leaks
        ]

    def edit(self, text: str, actionable: Sequence[Judgement]) -> Sequence[Edit]:
        """Generalize every span; of spans that overlap, the union is one edit."""
        instead: dict[tuple[str, str], str] = {}
        for finding in _findings(text):
            key = (finding.attribute, fold(text[finding.start : finding.end]))
            instead.setdefault(key, finding.instead)
        wanted = (
            (span, judged.leak, instead.get((judged.leak.attribute, fold(judged.leak.evidence))))
            for judged in actionable
            for span in judged.spans
        )
        return list(_edits(text, wanted))


def _findings(text: str) -> list[Finding]:
    """Return the findings of all recognizers, but of nested ones of an attribute the outer one."""
    simple = plain(text)
    found = [finding for recognize in RECOGNIZERS for finding in recognize(simple)]
    reach: dict[str, int] = {}
    outer: list[Finding] = []
    # Stable: of two at the same place the one of the earlier recognizer, or phrase, stays.
    for finding in sorted(found, key=lambda finding: (finding.start, -finding.end)):
        if finding.end > reach.get(finding.attribute, -1):
            outer.append(finding)
            reach[finding.attribute] = finding.end
    return outer


def _judgement(leak: Leak, known: tuple[Level, str] | None) -> Judgement:
    if known is None:
        level = Level.MED if leak.certainty >= 4 else Level.LOW
        return Judgement(leak, level, "as sure as the attacker is", _VALIDITY[level])
    level, reason = known
    return Judgement(leak, level, reason, _VALIDITY[level])


def _edits(text: str, wanted: Iterable[tuple[Span, Leak, str | None]]) -> Iterable[Edit]:
    """Merge what overlaps: an identifier names the union, else the longest span does."""
    groups: list[list[tuple[Span, Leak, str | None]]] = []
    end = -1
    for item in sorted(wanted, key=lambda item: item[0]):
        if groups and item[0].start < end:
            groups[-1].append(item)
        else:
            groups.append([item])
        end = max(end, item[0].end)
    for group in groups:
        span = Span(group[0][0].start, max(item[0].end for item in group))
        _, leak, general = max(
            group,
            key=lambda item: (item[1].attribute == IDENTIFIER, item[0].end - item[0].start),
        )
        before = text[span.start : span.end]
        after = fit(general or _OTHERWISE[leak.attribute], text, span.start, span.end)
        yield Edit(span, before, after, leak.attribute)
