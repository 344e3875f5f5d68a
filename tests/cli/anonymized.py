"""Texts, and an anonymizer that stands for the real one, for the tests of the command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dynaserve.rlaa.records import Edit, Judgement, Leak, Level, Result, Round, Span, Status
from dynaserve.serving.settings import AnonymizationSettings

SECRET = "Porto"
TEXT = f"I live in {SECRET}.\nIt rains.\n"
CLEANED = "I live in Portugal.\nIt rains.\n"
LINES = (
    {"id": "a", "text": f"I live in {SECRET}.", "user": "jo.brandt"},
    {"id": "b", "text": f"stuck in {SECRET}"},
    {"id": 3, "text": "Nice weather."},
)


def result_of(text: str) -> Result:
    """Replace the city, withhold what says "stuck", and leave all else as it is."""
    if "boom" in text:
        raise RuntimeError(text)
    at = text.find(SECRET)
    spans = (Span(at, at + len(SECRET)),) if at >= 0 else ()
    judged = Judgement(
        Leak("location", "Portugal", SECRET, 5), Level.HIGH, f"says {SECRET}", 0.9, spans
    )
    if "stuck" in text:
        rounds = (Round((judged,), text=text),)
        return Result(Status.BUDGET_EXHAUSTED, None, rounds, (judged,), "a leak is left open")
    if at < 0:
        return Result(Status.CLEAN, text, (Round((), text=text),))
    edit = Edit(spans[0], SECRET, "Portugal", "location")
    after = text.replace(SECRET, "Portugal")
    first = Round((judged,), (edit,), after, mpg=0.5, muc=0.1, mrs=float("inf"))
    return Result(Status.ANONYMIZED, after, (first, Round((), text=after)), edits=(edit,))


class Fake:
    """Stands for the anonymizer, and remembers how it was made and asked."""

    def __init__(self) -> None:
        self.settings: list[AnonymizationSettings] = []
        self.texts: list[str] = []

    def make(self, settings: AnonymizationSettings) -> dict[str, Fake]:
        self.settings.append(settings)
        return {"edit": self, "rewrite": self}

    def run(self, text: str, *, attributes: Sequence[str] | None = None) -> Result:
        assert attributes is None
        self.texts.append(text)
        return result_of(text)


def lines_file(tmp_path: Path, *documents: Any) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in documents))
    return path


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]
