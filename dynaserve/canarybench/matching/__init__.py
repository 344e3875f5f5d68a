"""Finds canaries in a text, written as they are or disguised."""

from __future__ import annotations

from dynaserve.canarybench.matching.matcher import Matcher
from dynaserve.canarybench.matching.results import CanaryLike, FieldMatch, Match, Tier

__all__ = ["CanaryLike", "FieldMatch", "Match", "Matcher", "Tier"]
