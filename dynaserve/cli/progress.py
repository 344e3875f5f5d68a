"""A progress bar on standard error, for people who watch and for nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Callable[[int, int, str], None]]:
    """Yield a function of steps done, steps in all, and what was done, that moves a bar.

    Nothing is drawn if standard error is no terminal, or with ``quiet``; the bar goes when the
    work is done.
    """
    from rich.console import Console  # noqa: PLC0415 - only on long work
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    console = Console(stderr=True)
    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("step 1", total=None)
        yield lambda done, total, what: progress.update(
            task, completed=done, total=total, description=f"{done} of {total} done: {what}"
        )
