"""What to look for: the stretches of letters and digits that give a canary away.

Patterns are skeletons.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dynaserve.canarybench.matching.layers import Skeleton, skeleton_of
from dynaserve.canarybench.matching.letters import letters
from dynaserve.canarybench.matching.results import CanaryLike, Tier
from dynaserve.canarybench.matching.spelled import spellings

SHORTEST = 4
"""Letters and digits that a value needs at least."""
MAX_SHARERS = 8
"""A stretch that more canaries share identifies none of them."""
PHONE_DIGITS = 7
_WEAK = 7
"""Values of fewer letters and digits must keep their groups: 10.0.0.1 is not 10,001."""
_LOCAL_PART, _STREET = 7, 10
MANY_DIGITS = 10
"""Digits that may stand beside others: within a longer number, ten in a row are no accident."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A stretch of one canary.

    ``canary`` is its index. A pattern that ``is_whole`` holds all of the value, whose first
    letter or digit comes after ``lead`` characters. ``groups`` tells, for weak patterns, between
    which characters something else must stand.
    """

    canary: int
    tier: Tier
    is_whole: bool = True
    lead: int = 0
    groups: tuple[bool, ...] | None = None

    def fits(self, skeleton: Skeleton, start: int, end: int) -> bool:
        """Return whether what surrounds and divides an occurrence lets it count."""
        if self.groups is not None:
            found = tuple(not skeleton.touches(i) for i in range(start, end - 1))
            return found == self.groups
        text = skeleton.text
        stretch = text[start:end]
        if self.is_whole:
            guarded = stretch.isdecimal() and len(stretch) < MANY_DIGITS
            joins = str.isdecimal
        else:
            guarded = self.tier is Tier.SUBSTRING
            joins = str.isalnum
        return not guarded or not (
            (start > 0 and joins(text[start - 1]) and skeleton.touches(start - 1))
            or (end < len(text) and joins(text[end]) and skeleton.touches(end - 1))
        )


def patterns_of(canaries: Iterable[CanaryLike]) -> dict[str, list[Pattern]]:
    """Return the patterns of all canaries by their skeletons.

    Raises
    ------
    ValueError
        Naming the first canary with fewer than four letters and digits.
    """
    found: dict[str, list[Pattern]] = defaultdict(list)
    for index, canary in enumerate(canaries):
        whole = dict(_whole(index, canary))
        for text, pattern in whole.items():
            found[text].append(pattern)
        for text in {*_parts(canary)} - whole.keys():
            found[text].append(Pattern(index, Tier.SUBSTRING, is_whole=False))
        for text in _digit_windows(canary) - whole.keys():
            found[text].append(Pattern(index, Tier.DIGITS, is_whole=False))
    kept = {
        text: [p for p in patterns if p.is_whole or len(patterns) <= _sharers(p)]
        for text, patterns in found.items()
    }
    return {text: patterns for text, patterns in kept.items() if patterns}


def _sharers(pattern: Pattern) -> int:
    return 1 if pattern.tier is Tier.SUBSTRING else MAX_SHARERS


def _whole(index: int, canary: CanaryLike) -> Iterator[tuple[str, Pattern]]:
    value = canary.value
    own = skeleton_of(value)
    if len(own) < SHORTEST:
        raise ValueError(
            f"canary {canary.id!r}: its value has {len(own)} letters and digits, "
            f"a value needs at least {SHORTEST} to be told from chance"
        )
    lead = next(i for i, character in enumerate(value) if letters(character))
    groups = None
    if len(own) < _WEAK:
        whole = Skeleton.of(value)
        groups = tuple(not whole.touches(i) for i in range(len(own) - 1))
    yield own, Pattern(index, Tier.NORMALIZED, lead=lead, groups=groups)
    for text in spellings(value) - {own}:
        yield text, Pattern(index, Tier.NORMALIZED, lead=lead)


def _parts(canary: CanaryLike) -> Iterator[str]:
    """Give what of a value names somebody on its own."""
    value = canary.value
    if canary.kind == "email":
        local = value.partition("@")[0]
        text = skeleton_of(local)
        if len(text) >= _LOCAL_PART and not local.isalpha():
            yield text
    if canary.kind == "address":
        text = skeleton_of(value.partition(",")[0])
        if len(text) >= _STREET and any(map(str.isdecimal, text)):
            yield text


def _digit_windows(canary: CanaryLike) -> set[str]:
    if canary.kind != "phone":
        return set()
    return {
        run[i : i + PHONE_DIGITS]
        for run in re.findall(r"\d+", skeleton_of(canary.value))
        for i in range(len(run) - PHONE_DIGITS + 1)
    }
