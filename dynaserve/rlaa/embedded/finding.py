"""What a recognizer reports: where a text gives something away, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dynaserve.rlaa.records import Level


@dataclass(frozen=True)
class Finding:
    """A place of a text that gives an attribute away.

    Attributes
    ----------
    start, end
        Code points of the words that give it away, no more of the text than has to be replaced.
    attribute
        One of ``records.ATTRIBUTES``, or ``records.IDENTIFIER``.
    guess
        What it is taken to be; compared by ``evaluation`` and shown, never written into the text.
    instead
        More general words for the middle of a sentence; ``wording.fit`` adapts capitals. They
        must not be found again as anything actionable.
    level
        How much it matters if the text says it of its writer; ``grading`` lowers it if not.
    """

    start: int
    end: int
    attribute: str
    guess: str = field(repr=False)
    instead: str = field(repr=False)
    level: Level


Recognizer = Callable[[str], Iterator[Finding]]
"""Takes a text after ``wording.plain`` and needs time linear in its length, whatever it holds."""
