"""How tables and the notes under them are printed: for people, or for a page."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from dynaserve.tables import Table


def print_tables(tables: Sequence[Table], notes: Sequence[str], *, narrowest: int = 0) -> None:
    """Print on the terminal; ``narrowest`` is the width below which lines are left to break."""
    from rich import box  # noqa: PLC0415 - only for people
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as Grid  # noqa: PLC0415

    console = Console(highlight=False)
    console.width = max(console.width, narrowest)
    for table in tables:
        grid = Grid(title=table.title, box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1))
        for place, column in enumerate(table.columns):
            grid.add_column(column, justify="right" if place else "left", no_wrap=not place)
        for cells in table.rows:
            grid.add_row(*cells)
        console.print(grid)
    for note in notes:
        console.print(f"- {note}", markup=False)


def print_markdown(tables: Sequence[Table], notes: Sequence[str]) -> None:
    """Print for a page in Markdown."""
    typer.echo("\n".join(table.markdown() for table in tables))
    typer.echo("\n".join(f"- {note}" for note in notes))
