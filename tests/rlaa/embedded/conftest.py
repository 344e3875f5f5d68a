"""One round of the embedded engine, as the loop makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dynaserve.rlaa.embedded import EmbeddedEngine
from dynaserve.rlaa.records import ATTRIBUTES, Judgement, Level
from dynaserve.rlaa.spans import apply, find_mentions

ENGINE = EmbeddedEngine()


def judged(text: str) -> list[Judgement]:
    """Return what the engine makes of a text, located."""
    judgements = ENGINE.judge(text, ENGINE.attack(text, ATTRIBUTES))
    return [replace(j, spans=find_mentions(text, j.leak.evidence)) for j in judgements]


def open_leaks(text: str) -> list[Judgement]:
    """Return the judgements that ask for an edit."""
    return [j for j in judged(text) if j.level in {Level.HIGH, Level.MED}]


def anonymized(text: str) -> str:
    """Return a text after one round."""
    return apply(text, ENGINE.edit(text, open_leaks(text)))


@pytest.fixture
def anonymize() -> Callable[[str], str]:
    return anonymized


@pytest.fixture
def actionable() -> Callable[[str], list[Judgement]]:
    return open_leaks
