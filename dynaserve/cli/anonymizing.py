"""One text after another through the anonymizer, with what its owner may see of it on the way.

The trace and what is shown hold the texts; nothing else that comes from here does.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dynaserve.cli.anonymize_shown import show
from dynaserve.cli.anonymize_trace import entry, traced
from dynaserve.cli.anonymize_writing import Write
from dynaserve.cli.outcome import ExitCode, UsageError, user_input
from dynaserve.cli.written import same_file
from dynaserve.rlaa.records import Result
from dynaserve.serving.anonymizers import Runs, make_anonymizers
from dynaserve.serving.settings import AnonymizationSettings

if TYPE_CHECKING:
    from rich.console import Console

DASH, STDIN = "-", "stdin"


@dataclass(frozen=True)
class Files:
    """Where texts come from, and where what comes of them goes."""

    source: str
    output: Path | None
    trace: Path | None
    force: bool

    @property
    def name(self) -> str:
        """What the input is called in messages."""
        return STDIN if self.source == DASH else self.source

    def read(self) -> bytes:
        """Return the input, or end: without one there is nothing to do."""
        if self.source != DASH:
            content = Path(self.source).read_bytes()
        elif sys.stdin is None:
            raise UsageError(f"{STDIN}: is closed; name a file to read")
        else:
            content = sys.stdin.buffer.read()
        if not content.strip():
            typer.echo("nothing to do: the input is empty", err=True)
            raise typer.Exit(ExitCode.NOTHING_CHECKED)
        return content

    def require_apart(self, *others: Path | None) -> None:
        """Refuse to write to what is read, or to one file twice, by whichever of its names."""
        read = _redirected("/dev/stdin") if self.source == DASH else Path(self.source)
        written = self.output or _redirected("/dev/stdout")
        files = [path for path in (read, written, self.trace, *others) if path]
        for one, other in combinations(files, 2):
            if same_file(one, other):
                raise UsageError(f"{other} is the same file as {one}; name another file to write")


def _redirected(stream: str) -> Path | None:
    """Return a standard stream if it is a file, which a shell makes it."""
    path = Path(stream)
    return path if path.is_file() else None


@dataclass(frozen=True)
class Shown:
    """What a person gets to see beside the output."""

    always: bool
    as_json: bool

    def console(self, *, on_terminal: bool) -> Console | None:
        """Return where to show changes and leaks: if asked to, or where a terminal may see them."""
        from rich.console import Console  # noqa: PLC0415 - light start

        console = Console(stderr=True, highlight=False)
        if self.always or (on_terminal and console.is_terminal and not self.as_json):
            return console
        return None


class Anonymizing:
    """Runs texts, counts what came of them, and traces and shows what happened if asked to.

    Parameters
    ----------
    anonymizer
        What does it.
    trace
        Takes full records, one line of JSON per text.
    console
        Where changes and leaks are shown.

    Attributes
    ----------
    statuses
        How many texts ended how.
    withheld
        How many are not releasable.
    """

    def __init__(
        self, anonymizer: Runs, trace: Write | None = None, console: Console | None = None
    ) -> None:
        self._anonymizer, self._trace, self._console = anonymizer, trace, console
        self.statuses: Counter[str] = Counter()
        self.withheld = 0

    def run(self, text: str, name: str | int) -> Result:
        """Return what came of a text.

        Raises
        ------
        RuntimeError
            In place of whatever the anonymizer raises, whose message could quote the text.
        """
        try:
            result = self._anonymizer.run(text)
        except Exception as error:
            failure = f"anonymizing {name} failed with {type(error).__name__}"
        else:
            self._tell(text, name, result)
            return result
        raise RuntimeError(failure)  # outside of the except block: it does not refer to the other

    def _tell(self, text: str, name: str | int, result: Result) -> None:
        self.statuses[result.status.value] += 1
        self.withheld += not result.releasable
        if self._trace is not None:
            self._trace(entry(text, name, result))
        if self._console is not None:
            from rich.markup import escape  # noqa: PLC0415 - light start

            self._console.rule(escape(str(name)), style="dim")
            show(self._console, text, result)


@contextmanager
def working(
    settings: AnonymizationSettings, files: Files, console: Console | None, *, resumes: bool
) -> Iterator[Anonymizing]:
    """Make the anonymizer and open the trace, to go on with it if the run ``resumes`` one."""
    with ExitStack() as stack:
        with user_input():
            anonymizer = make_anonymizers(settings)[settings.mode]
            trace = stack.enter_context(traced(files.trace, resumes=resumes, force=files.force))
        if files.trace is not None:
            typer.echo(
                f"warning: {files.trace} holds the texts as they were; only you can read it, "
                "delete it when you are done",
                err=True,
            )
        yield Anonymizing(anonymizer, trace, console)
