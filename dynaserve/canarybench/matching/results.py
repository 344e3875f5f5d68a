"""What a search takes and what it answers: places and tiers, never the values themselves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class Tier(str, Enum):
    """How sure a match is, surest first; reported apart.

    ``EXACT``: letter by letter. ``NORMALIZED``: the whole value, written otherwise. ``DIGITS``:
    seven or more consecutive digits of a phone, ten of another number, or a number in words.
    ``SUBSTRING``: a long stretch, or the part that names somebody. ``EDIT``: all but a few letters.
    """

    EXACT = "exact"
    NORMALIZED = "normalized"
    DIGITS = "digits"
    SUBSTRING = "substring"
    EDIT = "edit"

    @property
    def rank(self) -> int:
        """0 for the surest."""
        return _RANKS[self]

    def __str__(self) -> str:
        return self.value


_RANKS = {tier: rank for rank, tier in enumerate(Tier)}


class CanaryLike(Protocol):
    """What the matcher reads of a canary."""

    @property
    def id(self) -> str:
        """Its name in reports."""

    @property
    def kind(self) -> str:
        """Such as ``email``; decides which parts of a value count."""

    @property
    def value(self) -> str:
        """The secret."""


@dataclass(frozen=True, slots=True)
class Match:
    """A canary from ``start`` up to ``end``, in code points of the text that was searched."""

    canary_id: str
    tier: Tier
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FieldMatch:
    """A canary from ``start`` in the field ``first`` up to ``end`` in the field ``last``."""

    canary_id: str
    tier: Tier
    first: int
    start: int
    last: int
    end: int
