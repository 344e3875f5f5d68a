"""Canaries in, texts through, places out: the one class that others call.

It may not print, log or put into an error what it looks for or what it finds.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from dynaserve.canarybench.matching.decoding import decoded
from dynaserve.canarybench.matching.layers import Layer, Skeleton, image, skeleton_of
from dynaserve.canarybench.matching.near import Near
from dynaserve.canarybench.matching.patterns import MANY_DIGITS, patterns_of
from dynaserve.canarybench.matching.results import CanaryLike, FieldMatch, Match, Tier
from dynaserve.canarybench.matching.spelled import OPENINGS, rewritten
from dynaserve.canarybench.matching.verbatim import Occurrence, Openings, Verbatim

_DEPTH = 4
"""Encodings within encodings."""
_GROWTH = 8
"""All that is decoded from a block may be as many times as long as it."""
_CONTEXT = 4
"""How much longer than a value the rest of it may be where a part of it is encoded."""
_STRETCH = 16
"""How much longer than a value its disguise may be where two blocks meet."""
_BLOCK = 1 << 19
_SPELLED = 6
"""How much longer a value is in words."""


@dataclass(frozen=True, slots=True, order=True)
class _Hit:
    """A find in the original text, before those of one place are put together."""

    canary: int
    start: int
    end: int
    rank: int


class Matcher:
    """Finds canaries in texts, however they are written.

    Build it once, for canaries and decoys together: a stretch that many share, such as a mail
    domain, then identifies none of them.

    Parameters
    ----------
    canaries
        Objects with ``id``, ``kind`` and ``value``, three strings.

    Raises
    ------
    ValueError
        Naming the first id that comes twice, or whose value has fewer than four letters and
        digits.
    ImportError
        Without the extra ``canary``.

    Examples
    --------
    >>> from dynaserve.canarybench import Canary
    >>> matcher = Matcher([Canary("c1", "email", "ada.byron7@example.org")])
    >>> matcher.find("write to ADA.BYRON7 (at) example dot org")
    [Match(canary_id='c1', tier=<Tier.NORMALIZED: 'normalized'>, start=9, end=40)]
    """

    def __init__(self, canaries: Iterable[CanaryLike]) -> None:
        canaries = tuple(canaries)
        self._ids = [canary.id for canary in canaries]
        self._values = [canary.value for canary in canaries]
        seen: set[str] = set()
        for id_ in self._ids:
            if id_ in seen:
                raise ValueError(f"canary id {id_!r} is given twice")
            seen.add(id_)
        # First: of many canaries, this takes the most memory while it is made.
        self._near = Near(canaries)
        patterns = patterns_of(canaries)
        self._verbatim = Verbatim(patterns)
        self._number_words = Openings(OPENINGS)
        self._longest = max(map(len, [*patterns, *self._values]), default=0)
        self._reach = _STRETCH * self._longest + 512

    def find(self, text: str) -> list[Match]:
        """Return where canaries stand in a text, by place; the surest tier for each place.

        A partial find within a longer or surer one of another canary is left out: that explains
        it. Time grows with the length of the text alone; bytes that are no UTF-8 may come as
        lone surrogates (``errors="surrogateescape"``).
        """
        return self._find(text, lambda _: False)

    def _find(self, text: str, is_doubtful: Callable[[_Hit], bool]) -> list[Match]:
        hits: set[_Hit] = set()
        size = max(_BLOCK, 4 * self._reach)
        for start in range(0, max(len(text), 1), size):
            begin = max(start - self._reach, 0)
            block = text[begin : start + size]
            for layer in self._layers(Layer.of(block, begin)):
                hits.update(self._hits(layer, text))
        merged = _merged(hits, is_doubtful)
        places = sorted(_explained(merged), key=lambda hit: (hit.start, hit.end, hit.canary))
        tiers = tuple(Tier)
        return [Match(self._ids[hit.canary], tiers[hit.rank], hit.start, hit.end) for hit in places]

    def find_in_fields(self, fields: Sequence[str]) -> list[FieldMatch]:
        """Return where canaries stand in fields, also those that run over neighbouring ones.

        The fields are searched as lines of one text, which is much faster than each by itself. Over
        several fields a part of a number counts from ten digits on: counts that stand side by
        side, as in a table, make any seven sooner or later.
        """
        starts = [0, *accumulate(len(field) + 1 for field in fields)]
        text = "\n".join(fields)

        def field_at(place: int) -> int:
            return bisect_right(starts, place) - 1

        def is_doubtful(hit: _Hit) -> bool:
            if hit.rank != Tier.DIGITS.rank or field_at(hit.start) == field_at(hit.end - 1):
                return False
            found = skeleton_of(text[hit.start : hit.end])
            return found.isdecimal() and len(found) < MANY_DIGITS

        return [
            FieldMatch(
                *(match.canary_id, match.tier),
                *(first := field_at(match.start), match.start - starts[first]),
                *(last := field_at(match.end - 1), match.end - starts[last]),
            )
            for match in self._find(text, is_doubtful)
        ]

    def _layers(self, block: Layer) -> Iterator[Layer]:
        """Give the block in plain letters, and what is encoded in it, read either way."""
        layer = block.plain()
        yield layer
        budget = _GROWTH * len(layer.text)
        for inner in (layer, layer.mirrored()):
            for _ in range(_DEPTH):
                deeper = decoded(inner, _CONTEXT * self._longest)
                if deeper is None or len(deeper.text) > budget:
                    break
                budget -= len(deeper.text)
                inner = deeper.plain()  # noqa: PLW2901 (one level down)
                yield inner

    def _hits(self, layer: Layer, original: str) -> Iterator[_Hit]:
        skeleton = layer.skeleton()
        letters = image(skeleton.text)
        for occurrence in self._near.find(skeleton, letters):
            yield self._hit(occurrence, skeleton, original)
        for direction in (skeleton, skeleton.mirrored()):
            letters = image(direction.text)
            for occurrence in self._verbatim.find(direction, letters):
                yield self._hit(occurrence, direction, original)
            openings = self._number_words.find(letters)
            for spelled in rewritten(direction, openings, _SPELLED * self._longest):
                for occurrence in self._verbatim.find(spelled, image(spelled.text)):
                    yield self._hit(occurrence, spelled, original, spelled=True)

    def _hit(
        self, occurrence: Occurrence, skeleton: Skeleton, original: str, *, spelled: bool = False
    ) -> _Hit:
        pattern, first, last = occurrence
        start, end = skeleton.origin(first, last)
        if pattern.is_whole:
            value = self._values[pattern.canary]
            begin = start - pattern.lead
            if begin >= 0 and original.startswith(value, begin):
                return _Hit(pattern.canary, begin, begin + len(value), Tier.EXACT.rank)
        tier = pattern.tier
        if spelled and skeleton.text[first:last].isdecimal():
            tier = Tier.DIGITS
        while end < len(original) and unicodedata.combining(original[end]):
            end += 1
        return _Hit(pattern.canary, start, end, tier.rank)


def _merged(hits: Iterable[_Hit], is_doubtful: Callable[[_Hit], bool]) -> Iterator[_Hit]:
    """Put overlapping hits of one canary together: the surest tier, as far as its hits reach.

    Where that is doubtful, only those of them that are not.
    """
    for cluster in _overlapping(hits):
        if is_doubtful(whole := _together(cluster)):
            rest = [hit for hit in cluster if not is_doubtful(hit)]
            yield from map(_together, _overlapping(rest))
        else:
            yield whole


def _overlapping(hits: Iterable[_Hit]) -> Iterator[list[_Hit]]:
    """Give the hits of one canary that overlap, by and by."""
    cluster: list[_Hit] = []
    reach = 0
    for hit in sorted(hits):
        if cluster and (hit.canary != cluster[0].canary or hit.start >= reach):
            yield cluster
            cluster = []
        reach = max(reach, hit.end) if cluster else hit.end
        cluster.append(hit)
    if cluster:
        yield cluster


def _together(cluster: list[_Hit]) -> _Hit:
    rank = min(hit.rank for hit in cluster)
    surest = [hit for hit in cluster if hit.rank == rank]
    start, end = min(hit.start for hit in surest), max(hit.end for hit in surest)
    return _Hit(cluster[0].canary, start, end, rank)


def _explained(hits: Iterable[_Hit]) -> Iterator[_Hit]:
    """Leave out partial hits within a longer hit, or an as long and surer one, of others."""
    widest: _Hit | None = None
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end, hit.rank)):
        partial = hit.rank > Tier.NORMALIZED.rank
        if widest is None or hit.end > widest.end:
            widest = hit
        elif partial and (
            (hit.start, hit.end) != (widest.start, widest.end) or hit.rank > widest.rank
        ):
            continue
        yield hit
