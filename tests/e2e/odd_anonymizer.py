"""A service around the built-in engine that does otherwise for texts with a certain word.

One server of it is enough for all that takes long, fails or is left undecided. What it did with a
text it notes as an empty file in the state directory.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dynaserve.rlaa import Anonymizer as Real
from dynaserve.rlaa.llm import check_cancelled
from dynaserve.rlaa.records import Edit, Judgement, Leak, Level, Result, Round, Status
from dynaserve.rlaa.spans import find_mentions
from dynaserve.serving.anonymizer import anonymizer_service


def noted(name: str) -> Path:
    """Return the file that says that something happened."""
    return Path(os.environ["DYNASERVE_STATE_DIR"]) / f"odd-{name}"


def slow(_: str) -> None:
    """Work like a model that is slow, and can be stopped."""
    noted("begun").touch()
    try:
        for _ in range(6000):
            check_cancelled()
            time.sleep(0.01)
    finally:
        noted("ended").touch()


def failing(_: str) -> Result:
    """Fail."""
    return Result(Status.FAILED, None, reason="attacker: no answer")


def judged(text: str, word: str) -> Judgement:
    """Return a leak that is MED, wherever a word stands."""
    leak = Leak("location", "a city", word, 3)
    return Judgement(leak, Level.MED, "somewhere", 0.7, find_mentions(text, word))


def exhausted(text: str) -> Result:
    """Leave a leak open that is MED when the rounds run out."""
    left = judged(text, "exhausted")
    return Result(Status.BUDGET_EXHAUSTED, None, (Round((left,), text=text),), (left,), "left open")


def costly(text: str) -> Result:
    """Find an edit that costs too much, and leave it out."""
    left = judged(text, "costly")
    edits = tuple(Edit(span, "costly", "cheap", "location") for span in left.spans)
    turn = Round((left,), edits, text, mpg=0.1, muc=0.9, mrs=9.0, kept=False)
    return Result(Status.STOPPED_RATIONAL, text, (turn,), (left,), "it costs too much")


OTHERWISE: dict[str, Callable[[str], Result | None]] = {
    each.__name__: each for each in (slow, failing, exhausted, costly)
}


class Odd:
    """The built-in engine, but for some words."""

    def __init__(self) -> None:
        self.real = Real.embedded()
        self.real.run("I am 31.")  # what loads on first use

    def run(self, text: str, *, attributes: Sequence[str] | None = None) -> Result:
        """Return what came of a text."""
        for word, act in OTHERWISE.items():
            if word in text and (result := act(text)) is not None:
                return result
        result = self.real.run(text, attributes=attributes)
        noted(result.status.value).touch()
        return result


Anonymizer = anonymizer_service(anonymizer=Odd)
