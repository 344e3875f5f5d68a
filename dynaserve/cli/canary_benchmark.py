"""The benchmark as commands run it: on all processors, with a bar on a terminal.

``dynaserve canary run`` and ``dynaserve reproduce canarybench`` share it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from dynaserve.cli.outcome import ExitCode, user_input
from dynaserve.cli.progress import progress_bar

if TYPE_CHECKING:
    from rich.table import Table

    from dynaserve.canarybench.benchmark import Cell


def measured(
    seeds: int, *, conversations: int | None = None, k_min: int | None = None
) -> tuple[Cell, ...]:
    """Return the benchmark's cells for the seeds from 0."""
    with user_input():
        # Light start: these load scikit-learn.
        from dynaserve.canarybench.benchmark import CONVERSATIONS, run_benchmark  # noqa: PLC0415
        from dynaserve.canarybench.pipeline import K_MIN  # noqa: PLC0415

    with nothing_checked(), progress_bar() as show:
        return run_benchmark(
            range(seeds),
            conversations=conversations or CONVERSATIONS,
            k_min=k_min or K_MIN,
            jobs=os.cpu_count() or 1,
            done=lambda finished: show(finished, seeds, "seeds"),
        )


def print_benchmark(table: Table) -> None:
    """Print the benchmark's table, and what its numbers mean."""
    from rich.console import Console  # noqa: PLC0415 - light start

    from dynaserve.canarybench.reports.benchmark import LEGEND  # noqa: PLC0415

    console = Console(highlight=False)
    console.width = max(console.width, 100)  # what the table needs; a pipe has 80
    console.print(table)
    console.print(LEGEND, style="dim")


@contextmanager
def nothing_checked() -> Iterator[None]:
    """End with the exit code for it if there was nothing to check inside."""
    from dynaserve.canarybench.serialized import NothingToCheck  # noqa: PLC0415 - light start

    try:
        yield
    except NothingToCheck as error:
        typer.echo(f"nothing was checked: {error}", err=True)
        raise typer.Exit(ExitCode.NOTHING_CHECKED) from None
