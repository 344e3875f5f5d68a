"""How a long run goes: a bar for who watches a terminal, JSON lines for who reads a log.

Both go to standard error, and hold numbers and the address of Dask's dashboard.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer

from dynaserve.bulk.run import SURVEY, Progress, Watch

if TYPE_CHECKING:
    from rich.console import Console

_EVERY = 5.0
"""Seconds between two lines of a log."""


@dataclass
class Pace:
    """How fast a run is, since its work began."""

    _since: float | None = None

    def rate(self, progress: Progress) -> float:
        """Return rows per second of this run; 0 at its start and in a survey."""
        if progress.step == SURVEY:
            return 0.0
        if self._since is None:
            self._since = time.monotonic()
            return 0.0
        seconds = time.monotonic() - self._since
        return (progress.done - progress.before) / seconds if seconds else 0.0

    def left(self, progress: Progress) -> float:
        """Return the seconds that the rest will take; infinite while nothing is known."""
        rate = self.rate(progress)
        return (progress.total - progress.done) / rate if rate else math.inf


@contextmanager
def watching() -> Iterator[Watch]:
    """Yield what shows a run on standard error."""
    from rich.console import Console  # noqa: PLC0415 - only on long work

    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        with _bar(console) as watch:
            yield watch
    else:
        lines = _Lines()
        try:
            yield Watch(lambda address: _line(dashboard=address), lines.tell)
        finally:
            lines.end()


@dataclass
class _Lines:
    """Writes a line now and then, and always the last one."""

    _pace: Pace = field(default_factory=Pace)
    _next: float = 0.0
    _untold: dict[str, Any] = field(default_factory=dict)

    def tell(self, progress: Progress) -> None:
        """Take note of how far it is, and write it if it is time."""
        self._untold = {"step": progress.step, "done": progress.done, "total": progress.total}
        if progress.step != SURVEY:
            left = self._pace.left(progress)
            self._untold |= {
                "rows_per_second": round(self._pace.rate(progress), 1),
                "eta_seconds": None if math.isinf(left) else round(left),
                "rejects": progress.rejects,
            }
        self._untold["workers"] = progress.workers
        if time.monotonic() >= self._next:
            self.end()

    def end(self) -> None:
        """Write what is not written yet."""
        if self._untold:
            _line(**self._untold)
            self._next = time.monotonic() + _EVERY
            self._untold = {}


def _line(**told: Any) -> None:
    typer.echo(json.dumps(told), err=True)


@contextmanager
def _bar(console: Console) -> Iterator[Watch]:
    from rich.progress import BarColumn, TextColumn  # noqa: PLC0415 - only on long work
    from rich.progress import Progress as Bar  # noqa: PLC0415

    pace = Pace()
    with Bar(BarColumn(), TextColumn("{task.description}"), console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def goes_on(progress: Progress) -> None:
            bar.update(
                task,
                completed=progress.done,
                total=progress.total,
                description=words(progress, pace),
            )

        yield Watch(lambda address: console.print(f"dashboard  {address}"), goes_on)


def words(progress: Progress, pace: Pace) -> str:
    """Return a line for people."""
    workers = f"{progress.workers} worker{'' if progress.workers == 1 else 's'}"
    if progress.step == SURVEY:
        return f"survey: {progress.done} of {progress.total} units, {workers}"
    left = pace.left(progress)
    clock = (
        "?" if math.isinf(left) else f"{left // 3600:.0f}:{left // 60 % 60:02.0f}:{left % 60:02.0f}"
    )
    return (
        f"{progress.done:,} of {progress.total:,} rows, {pace.rate(progress):,.0f} a second, "
        f"{clock} left, {progress.rejects:,} rejects, {workers}"
    )
