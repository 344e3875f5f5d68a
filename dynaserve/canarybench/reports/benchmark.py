"""The benchmark's results as a table that fits 100 columns, and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from rich.table import Table

from dynaserve.canarybench.benchmark import Cell, Run, Spread
from dynaserve.canarybench.paper import Published
from dynaserve.canarybench.rates import Rate

LEGEND = (
    "mean over the seeds (lowest-highest); ≤: upper end of the 95% Clopper-Pearson interval, all "
    "seeds together; suppressed clusters and their canaries do not count"
)


def benchmark_table(
    cells: Iterable[Cell], paper: Mapping[tuple[str, str], Published] | None = None
) -> Table:
    """Return a row per summarizer and defense, the paper's below ours where it has one."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for column in ("summary", "defense", "clusters leaking", "canaries leaking"):
        table.add_column(column, no_wrap=True)
    for column in ("mail/phone/ZIP", "coherence", "published"):
        table.add_column(column, no_wrap=True, justify="right")
    for cell in cells:
        table.add_row(cell.summarizer, cell.defense, *_ours(cell))
        if row := (paper or {}).get((cell.summarizer, cell.defense)):
            table.add_row("", "  the paper", *_theirs(row), style="dim")
    return table


def benchmark_json(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """Return the cells with every run, JSON-able."""
    return [
        {
            "summarizer": cell.summarizer,
            "defense": cell.defense,
            "cluster_rate": cell.clusters.to_dict(),
            "canary_rate": cell.canaries.to_dict(),
            "runs": [_run(run) for run in cell.runs],
        }
        for cell in cells
    ]


def _run(run: Run) -> dict[str, Any]:
    return dataclasses.asdict(run) | {
        "canary_rate": run.canary_rate.to_dict(),
        "cluster_rate": run.cluster_rate.to_dict(),
    }


def _ours(cell: Cell) -> tuple[str, ...]:
    kinds = cell.runs[0].indicators
    counts = [Spread(tuple(run.indicators[kind] for run in cell.runs)) for kind in kinds]
    published = cell.spread(lambda run: run.published)
    return (
        _rate(cell.clusters, cell.spread(lambda run: run.cluster_rate.value)),
        _rate(cell.canaries, cell.spread(lambda run: run.canary_rate.value)),
        "/".join(f"{count.mean:.0f}" for count in counts),
        f"{cell.spread(lambda run: run.coherence).mean:.3f}",
        f"{published.mean:.0f}",
    )


def _rate(pooled: Rate, spread: Spread) -> str:
    if pooled.found:
        return f"{spread.mean:.1%} ({100 * spread.low:.1f}-{100 * spread.high:.1f})"
    return f"0 of {pooled.total}, ≤ {pooled.high:.2%}"


def _theirs(row: Published) -> tuple[str, ...]:
    return (
        *(
            f"{rate.value:.1%} ({rate.found} of {rate.total})"
            for rate in (row.clusters, row.canaries)
        ),
        "/".join(map(str, row.indicators.values())),
        f"{row.coherence:.3f}",
        str(row.published),
    )
