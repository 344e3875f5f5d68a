"""``dynaserve reproduce rlaa``: anonymizers compared by what attackers still learn from them.

It needs the user's copies of two data sets, and a model only for what a model does.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynaserve.cli.outcome import UsageError, reporting, user_input
from dynaserve.cli.tables import print_markdown, print_tables

if TYPE_CHECKING:
    from dynaserve.rlaa.evaluation import Reproduction, Setup

EPILOG = "Example: dynaserve reproduce rlaa --data data --limit 20"
_WIDTH = 116
"""What the tables need; a pipe has 80."""
_MODEL = "A GGUF file, or org/repo:file.gguf to download it once."


@reporting
def rlaa(
    data: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Holds the folders llmprivacy and synthpai."),
    ],
    *,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help=f"Plays every role. {_MODEL} Without it the built-in engine does."
        ),
    ] = None,
    attacker_model: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Attacks what comes out, beside the linear attacker."),
    ] = None,
    judge: Annotated[
        str | None, typer.Option(metavar="PATH", help="Judges utility as the paper's UTIL.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only so many records, each attribute in turn.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the sample and of models' answers.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw MRS over the rounds.")
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the tables for a page.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare anonymizers on llmprivacy: utility, what attackers learn, and the paper's figures."""
    from dynaserve.atomic import replace_file  # noqa: PLC0415 - light start
    from dynaserve.rlaa.evaluation import (  # noqa: PLC0415
        Setup,
        make_notes,
        make_tables,
        mrs_png,
    )

    with user_input():
        if markdown and as_json:
            raise UsageError("--markdown and --json: choose one")
        _require_drawable(plot)
        done = _reproduced(Setup(data, limit, seed, model, attacker_model, judge))
    tables = make_tables(f"llmprivacy, {len(done.records)} records, seed {seed}", done.rows)
    notes = make_notes(done)
    if as_json:
        typer.echo(json.dumps(_facts(done, notes)))
    elif markdown:
        print_markdown(tables, notes)
    else:
        print_tables(tables, notes, narrowest=_WIDTH)
    if plot is not None:  # last: the tables of hours of work must not depend on it
        with user_input():
            replace_file(plot, mrs_png(done.rows))


def _require_drawable(plot: Path | None) -> None:
    """Refuse before hours of work what could not be drawn or written after them."""
    from dynaserve.rlaa.evaluation import require_matplotlib  # noqa: PLC0415 - light start

    if plot is None:
        return
    if plot.suffix.lower() != ".png":
        raise UsageError(f"--plot: {plot} must end in .png")
    if not plot.parent.is_dir():
        raise UsageError(f"--plot: {plot.parent} is not a directory")
    require_matplotlib()


def _reproduced(setup: Setup) -> Reproduction:
    from dynaserve.cli.progress import progress_bar  # noqa: PLC0415 - light start
    from dynaserve.rlaa.evaluation import reproduce  # noqa: PLC0415
    from dynaserve.rlaa.llm import LLMError  # noqa: PLC0415

    try:
        with progress_bar() as progress:
            return reproduce(setup, progress=progress)
    except LLMError as error:  # a model that could not be downloaded
        raise UsageError(str(error)) from error


def _facts(done: Reproduction, notes: list[str]) -> dict[str, Any]:
    from dynaserve.rlaa.evaluation import PAPER  # noqa: PLC0415 - light start

    setup = asdict(done.setup)
    del setup["data"]  # where the user keeps it is nobody else's business
    return {
        "dataset": "llmprivacy",
        **setup,
        "records": len(done.records),
        "anonymizers": [asdict(row) for row in done.rows],
        "paper": {name: asdict(one) for name, one in PAPER.items()},
        "notes": notes,
    }
