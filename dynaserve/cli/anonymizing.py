"""One text after another through the anonymizer, with what its owner may see of it on the way.

The trace and what is shown hold the texts; nothing else that comes from here does.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import typer

from dynaserve.cli.anonymize_shown import show
from dynaserve.cli.anonymize_trace import entry, traced
from dynaserve.cli.outcome import ExitCode, UsageError, user_input
from dynaserve.rlaa.records import Result
from dynaserve.serving.anonymizers import Runs, make_anonymizers
from dynaserve.serving.settings import AnonymizationSettings

if TYPE_CHECKING:
    from rich.console import Console

STDIN = "-"


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
        return "stdin" if self.source == STDIN else self.source

    def read(self) -> bytes:
        """Return the input, or end: without one there is nothing to do."""
        content = (
            sys.stdin.buffer.read() if self.source == STDIN else Path(self.source).read_bytes()
        )
        if not content.strip():
            typer.echo("nothing to do: the input is empty", err=True)
            raise typer.Exit(ExitCode.NOTHING_CHECKED)
        return content

    def require_apart(self, *others: Path | None) -> None:
        """Refuse to write to what is read, or to one file twice."""
        source = None if self.source == STDIN else Path(self.source)
        paths = [path.resolve() for path in (source, self.output, self.trace, *others) if path]
        for path in paths:
            if paths.count(path) > 1:
                raise UsageError(f"{path} is named twice; name another file to write")


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
        Where full records go, one line of JSON per text.
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
        self, anonymizer: Runs, trace: IO[bytes] | None = None, console: Console | None = None
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
            self._trace.write(entry(text, name, result))
            self._trace.flush()
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
