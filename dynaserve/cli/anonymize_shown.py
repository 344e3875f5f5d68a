"""A run of the anonymizer as its owner reads it on a terminal: changes in place, leaks in a table.

It shows the original text, so it is for the standard error of a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynaserve.rlaa.records import Edit, Judgement, Level, Result, Round

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

COLORS = {Level.HIGH: "bold red", Level.MED: "yellow", Level.LOW: "cyan", Level.INVALID: "dim"}
CONTEXT = 80
"""Characters beside a change that are always shown."""
CELL = 40
"""Most characters of the text in one cell of the table."""


def show(console: Console, text: str, result: Result) -> None:
    """Print what was changed, what was found, and how it ended."""
    if result.edits:
        console.print(changes(text, result.edits), soft_wrap=True)
        console.print()
    if any(turn.judgements for turn in result.rounds):
        console.print(table(result))
        console.print()
    console.print(ending(result), soft_wrap=True)


def changes(text: str, edits: tuple[Edit, ...]) -> Text:
    """Return the text with what went and what came, marked as ``git diff --word-diff`` does."""
    from rich.text import Text  # noqa: PLC0415 - only when shown

    shown, at = Text(), 0
    for edit in sorted(edits, key=lambda edit: edit.span):
        shown.append(shortened(text[at : edit.span.start], at_start=at == 0))
        shown.append(f"[-{edit.before}-]", style="red")
        shown.append(f"{{+{edit.after}+}}", style="green")
        at = edit.span.end
    return shown.append(shortened(text[at:].rstrip(), at_end=True))


def shortened(kept: str, *, at_start: bool = False, at_end: bool = False) -> str:
    """Return what stands beside or between changes, without what is far from any."""
    if len(kept) <= 3 * CONTEXT:
        return kept
    head = "" if at_start else kept[:CONTEXT]
    tail = "" if at_end else kept[-CONTEXT:]
    return f"{head} … {tail}"


def table(result: Result) -> Table:
    """Return the leaks of all rounds, each with its grade and what became of it."""
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    shown = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("round", "attribute", "evidence", "level", "valid", "now", "MRS"):
        shown.add_column(name, justify="right" if name in {"round", "valid", "MRS"} else "left")
    for number, turn in enumerate(result.rounds, 1):
        for judged in turn.judgements:
            shown.add_row(
                str(number),
                judged.leak.attribute,
                Text(clipped(judged.leak.evidence)),
                Text(judged.level.value, style=COLORS[judged.level]),
                f"{judged.validity:.0%}",
                Text(clipped(answer(judged, turn))),
                "" if turn.mrs is None else f"{turn.mrs:.2f}",
            )
    return shown


def answer(judged: Judgement, turn: Round) -> str:
    """Return what a round put in the place of a leak."""
    found = {
        edit.after
        for edit in turn.edits
        for span in judged.spans
        if edit.span.start < span.end and span.start < edit.span.end
    }
    if not found:
        return "stays"
    return " / ".join(sorted(found)) if turn.kept else "stays: too costly"


def ending(result: Result) -> Text:
    """Return in one line how it ended."""
    from rich.text import Text  # noqa: PLC0415

    status = result.status.value.replace("_", " ")
    if result.releasable:
        left = f", {len(result.residual)} left open" if result.residual else ""
        return Text(f"{status}{left}", style="green")
    return Text(f"withheld: {status} ({result.reason})", style="bold red")


def clipped(words: str) -> str:
    """Return words on one line, the beginning of them if they are many."""
    line = " ".join(words.split())
    return line if len(line) <= CELL else f"{line[: CELL - 1]}…"
