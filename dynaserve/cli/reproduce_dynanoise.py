"""``dynaserve reproduce dynanoise``: the paper's table, and attackers who know the defense.

It trains, so it needs torch and scikit-learn; what it trained is kept where ``--work`` says.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynaserve.cli.outcome import UsageError, reporting, user_input
from dynaserve.cli.tables import print_markdown, print_tables

if TYPE_CHECKING:
    from dynaserve.mia.reproduce import Contender, Row, Setup
    from dynaserve.tables import Table

_WIDTH = 110
"""Columns that the tables need."""
EPILOG = "Example: dynaserve reproduce dynanoise --dataset digits --quick"


class Data(str, Enum):
    """The data sets that the experiment can run on."""

    CIFAR10 = "cifar10"
    LOCATION30 = "location30"
    SST2 = "sst2"
    ADULT = "adult"
    DIGITS = "digits"


@reporting
def dynanoise(
    dataset: Annotated[Data, typer.Option(help="What to train on.")],
    *,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Holds a folder for each data set; digits needs none of it."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A third of the epochs, half of the shadows.")
    ] = False,
    seed: Annotated[
        list[int] | None, typer.Option(min=0, help="May be given more than once. [0]")
    ] = None,
    peers: Annotated[
        str | None,
        typer.Option(
            help="Only these defenses, with commas; training+output combines two: "
            "relaxloss+rank-template. 'training' stands for ways to train that fit less."
        ),
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep what was trained, and go on from it next time."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes; no figure depends on it.")] = 2,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the tables for a page.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train targets, shadows and peer defenses, attack all of them, print ours beside the paper."""
    with user_input():
        if markdown and as_json:
            raise UsageError("--markdown and --json: choose one")
        chosen = _contenders(peers)
        seeds = list(dict.fromkeys(seed or [0]))
        results = []
        with ExitStack() as stack:
            root = work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            for one in seeds:
                setup = _setup(dataset.value, data, root, one, quick=quick)
                results.append((setup, _rows(setup, chosen, workers)))
            notes = _notes(results[0][0])
    if as_json:
        typer.echo(json.dumps(_facts(results, notes)))
        return
    tables = [table for setup, rows in results for table in _tables(setup, rows)]
    print_markdown(tables, notes) if markdown else print_tables(tables, notes, narrowest=_WIDTH)


def _contenders(peers: str | None) -> list[Contender]:
    from dynaserve.mia.reproduce import DEFAULT, TRAINING, contender  # noqa: PLC0415 - light start

    names: list[str] = []
    for name in DEFAULT if peers is None else peers.split(","):
        names += TRAINING if name.strip() == "training" else [name.strip()]
    return [contender(name) for name in dict.fromkeys(names)]


def _setup(dataset: str, data: Path | None, root: Path, seed: int, *, quick: bool) -> Setup:
    from dynaserve.mia.reproduce import Setup  # noqa: PLC0415 - light start

    directory = root / dataset / f"{'quick-' if quick else ''}seed-{seed}"
    directory.mkdir(parents=True, exist_ok=True)
    return Setup(dataset, data, directory, seed, quick)


def _rows(setup: Setup, contenders: list[Contender], workers: int) -> list[Row]:
    from dynaserve.cli.progress import progress_bar  # noqa: PLC0415 - light start
    from dynaserve.mia.reproduce import reproduce  # noqa: PLC0415

    with progress_bar() as progress:
        return reproduce(setup, contenders, workers=workers, progress=progress)


def _tables(setup: Setup, rows: list[Row]) -> list[Table]:
    from dynaserve.mia.reproduce import adaptive_table, paper_table  # noqa: PLC0415 - light start

    title = f"{setup.dataset}{', quick' if setup.quick else ''}, seed {setup.seed}"
    undefended = next((row for row in rows if row.name == "none"), None)
    return [make(title, rows, undefended) for make in (adaptive_table, paper_table)]


def _notes(setup: Setup) -> list[str]:
    from dynaserve.mia.reproduce import (  # noqa: PLC0415 - light start
        calibration_note,
        describe,
        differences,
    )

    return [*differences(describe(setup)), calibration_note(setup)]


def _facts(results: list[tuple[Setup, list[Row]]], notes: list[str]) -> dict[str, Any]:
    return {
        "dataset": results[0][0].dataset,
        "quick": results[0][0].quick,
        "runs": [
            {"seed": setup.seed, "defenses": [asdict(row) for row in rows]}
            for setup, rows in results
        ],
        "notes": notes,
    }
