"""The options that all commands over large files have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Source = Annotated[
    Path, typer.Argument(metavar="IN", help="A file, or a directory with many in order of name.")
]
Out = Annotated[
    Path,
    typer.Argument(
        metavar="OUT",
        help="The directory to write to. A run continues what an earlier one of the same command "
        "left there.",
    ),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes on this machine. [one for each core]")
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Use this Dask cluster, such as tcp://10.0.0.5:8786; its workers have to see IN and "
        "OUT under the same paths.",
    ),
]
UnitBytes = Annotated[
    int | None,
    typer.Option(
        min=1024, help="About how much a worker takes at a time; a crash costs what is in hand."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the totals as one JSON object.")]
