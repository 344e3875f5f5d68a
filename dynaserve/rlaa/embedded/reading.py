"""A text as the engine reads it: what is found, graded, and what to write instead, once per text.

Attacker, arbitrator and editor ask about the same text one after the other. The last few readings
are kept in memory for them, the texts with them; nothing is written anywhere.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.grading import grade
from dynaserve.rlaa.embedded.recognizers import recognizers
from dynaserve.rlaa.embedded.wording import plain
from dynaserve.rlaa.llm.cancellation import check_cancelled
from dynaserve.rlaa.records import IDENTIFIER, Leak, Level
from dynaserve.rlaa.spans import Folded, fold

_KEPT = 8
"""Readings: of the texts, and versions of them, that a few threads are at work on."""
_LISTED = re.compile(r",? (?:and|or|&) |, ?| ?/ ?| \(?| - ")
"""Between findings that are one in the words for both: "Porto, Portugal", "Porto and Lisbon"."""


@dataclass(frozen=True)
class Known:
    """The surest mention of something in a text, and how sure it is."""

    finding: Finding
    level: Level
    reason: str
    evidence: str = field(repr=False)


@dataclass(frozen=True)
class Reading:
    """All that is known of a text, by attribute and folded evidence."""

    known: Mapping[tuple[str, str], Known] = field(repr=False)

    def of(self, leak: Leak) -> Known | None:
        """Return what is known of a leak's evidence; None if no recognizer finds it."""
        return self.known.get((leak.attribute, fold(leak.evidence)))


@lru_cache(maxsize=_KEPT)
def read(text: str, year: int | None = None) -> Reading:
    """Return the reading of a text; ``year`` is that of `EmbeddedEngine`."""
    surest: dict[tuple[str, str], Known] = {}
    simple = plain(text)
    found = itertools.chain.from_iterable(find(simple) for find in recognizers(year))
    for known in _merged(text, _graded(text, _outer(found))):
        key = (known.finding.attribute, fold(known.evidence))
        if key not in surest or known.level.gravity > surest[key].level.gravity:
            # The words of the first mention stand for all.
            first = surest.get(key, known)
            instead = first.finding.instead
            surest[key] = replace(known, finding=replace(known.finding, instead=instead))
    return Reading(surest)


def _outer(found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings in order, but of nested ones of an attribute the outer one."""
    reach: dict[str, int] = {}
    # Stable: of two at the same place the one of the earlier recognizer, or phrase, stays.
    for finding in sorted(found, key=lambda finding: (finding.start, -finding.end)):
        if finding.end > reach.get(finding.attribute, -1):
            yield finding
            reach[finding.attribute] = finding.end


def _graded(text: str, found: Iterable[Finding]) -> Iterator[Known]:
    simple = plain(text)
    for finding in found:
        check_cancelled()
        yield Known(finding, *grade(simple, finding), text[finding.start : finding.end])


def _merged(text: str, graded: Iterable[Known]) -> Iterator[Known]:
    """Yield what is known; neighbours that would be replaced by the same words as one as well.

    Their parts are yielded only if they stand elsewhere too, as sure as the whole is.
    """
    folded = cache(lambda: Folded(text))
    mentions = cache(lambda evidence: folded().mentions(evidence))
    for group in _neighbours(text, graded):
        check_cancelled()
        whole = _whole(text, group)
        yield whole
        start, end = whole.finding.start, whole.finding.end
        # Each kind of part once, or a list of one town would be compared with itself.
        parts = {part.evidence: part for part in reversed(group)} if len(group) > 1 else {}
        for part in reversed(parts.values()):
            spans = mentions(part.evidence)
            # In order and apart: the first and the last tell.
            if spans and (spans[0].start < start or spans[-1].end > end):
                yield replace(part, level=whole.level, reason=whole.reason)


def _whole(text: str, group: list[Known]) -> Known:
    first, last = group[0].finding, group[-1].finding
    surest = max(group, key=lambda known: known.level.gravity)
    finding = replace(first, end=last.end)
    return Known(finding, surest.level, surest.reason, text[first.start : last.end])


def _neighbours(text: str, graded: Iterable[Known]) -> list[list[Known]]:
    """Group what stands side by side and has the same words for it, in the order of the text."""
    groups: list[list[Known]] = []
    latest: dict[str, list[Known]] = {}
    for known in graded:
        finding = known.finding
        group = latest.get(finding.attribute)
        if group and _same(text, group[-1].finding, finding):
            group.append(known)
        else:
            group = [known]
            groups.append(group)
            latest[finding.attribute] = group
    return groups


def _same(text: str, left: Finding, right: Finding) -> bool:
    alike = left.instead.casefold() == right.instead.casefold()
    return (
        alike
        and left.attribute != IDENTIFIER
        and _LISTED.fullmatch(text, left.end, right.start) is not None
    )
