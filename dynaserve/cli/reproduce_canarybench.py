"""``dynaserve reproduce canarybench``: the paper's table beside ours, over several seeds."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from dynaserve.cli.canary_benchmark import measured, print_benchmark
from dynaserve.cli.outcome import ExitCode, reporting

EPILOG = "Example: dynaserve reproduce canarybench --seeds 5"


@reporting
def canarybench(
    *,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from 0.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Reproduce CanaryBench (arXiv 2601.18834). Exit code 1 if a finding does not hold."""
    cells = measured(seeds)
    from dynaserve.canarybench.paper import PAPER, checks  # noqa: PLC0415 - scikit-learn
    from dynaserve.canarybench.reports.benchmark import (  # noqa: PLC0415
        benchmark_json,
        benchmark_table,
    )

    found = checks(cells)
    if as_json:
        facts = [{"claim": c.claim, "measured": c.measured, "holds": c.holds} for c in found]
        typer.echo(json.dumps({"cells": benchmark_json(cells), "checks": facts}))
    else:
        print_benchmark(benchmark_table(cells, PAPER))
        for check in found:
            typer.echo(f"{'holds' if check.holds else 'FAILS'}: {check.claim}: {check.measured}")
    if not all(check.holds for check in found):
        raise typer.Exit(ExitCode.CHECK_FAILED)
