"""Where judged evidence stands, and that looking for it ends with the run."""

from __future__ import annotations

import threading

import pytest

from dynaserve.rlaa import Judgement, Leak, Level, Span
from dynaserve.rlaa.examination import located
from dynaserve.rlaa.llm import CancelledError, cancellable

TEXT = "It rains in Porto, and PORTO is home."


def judged(level: Level, evidence: str = "Porto") -> Judgement:
    return Judgement(Leak("location", "Porto", evidence, 5), level)


def test_of_judgements_on_the_same_words_the_gravest_stays() -> None:
    (left,) = located(TEXT, [judged(Level.LOW), judged(Level.HIGH, "(porto)")])
    assert (left.level, left.spans) == (Level.HIGH, (Span(12, 17), Span(23, 28)))


def test_looking_for_evidence_stops_with_the_run() -> None:
    event = threading.Event()
    event.set()
    with cancellable(event), pytest.raises(CancelledError):
        located(TEXT, [judged(Level.HIGH)])
