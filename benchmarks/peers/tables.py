"""What was measured, as JSON-able figures and as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from benchmarks import spread
from benchmarks.peers.criteria import Verdict
from benchmarks.peers.measuring import Rounds, Workload

AGAINST = ("MLServer JSON", "BentoML JSON")

NOTE = (
    "Every server has one worker, computes on one thread and keeps no access log. In parentheses: "
    "the 95% interval over rounds. control: a second undefended server, whose difference is that "
    "of two equal processes here."
)


def figures(workload: Workload, clients: int, rounds: Rounds) -> dict[str, Any]:
    """Return the figures of one case, JSON-able."""
    return {
        "rows": workload.rows,
        "classes": workload.classes,
        "clients": clients,
        "contestants": {name: _figures(name, rounds) for name in rounds},
    }


def _figures(name: str, rounds: Rounds) -> dict[str, Any]:
    taken = rounds[name]
    unit = [np.ones(1) for _ in taken]
    return {
        "p50_ms": [1e3 * each for each in spread.ratio(taken, unit, np.median)],
        "p90_ms": 1e3 * float(np.quantile(np.concatenate(taken), 0.9)),
        "faster_than": {
            other: list(spread.ratio(rounds[other], taken, np.median)) for other in AGAINST
        },
    }


def verdict_figures(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict, JSON-able."""
    criterion = verdict.criterion
    return {
        "criterion": criterion.text,
        "rows": criterion.workload.rows,
        "classes": criterion.workload.classes,
        "way": criterion.ours,
        "against": criterion.theirs,
        "at_most": criterion.at_most,
        "server": verdict.server,
        "clients": verdict.clients,
        "ratio": list(verdict.ratio),
        "verdict": verdict.words(),
    }


def print_case(console: Console, case: dict[str, Any]) -> None:
    """Print the figures of one case."""
    clients = case["clients"]
    table = Table(
        title=f"Requests of {case['rows']} x {case['classes']}, "
        f"{clients} client{'s' if clients > 1 else ''}",
        box=SIMPLE,
    )
    table.pad_edge, table.collapse_padding = False, True
    table.add_column("server")
    for heading in ("p50 ms", "p90 ms", *(f"times faster\nthan {other}" for other in AGAINST)):
        table.add_column(heading, justify="right")
    for name, each in case["contestants"].items():
        table.add_row(*cells(name, each))
    console.print(table)


def cells(name: str, figures: dict[str, Any]) -> list[str]:
    """Return the figures of one contestant as text."""
    return [
        name,
        _with_interval(figures["p50_ms"]),
        f"{figures['p90_ms']:.2f}",
        *(_with_interval(figures["faster_than"][other]) for other in AGAINST),
    ]


def _with_interval(ratio: list[float]) -> str:
    value, low, high = ratio
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def print_verdicts(console: Console, verdicts: list[dict[str, Any]]) -> None:
    """Print every criterion, whether it is met, and the numbers."""
    table = Table(title="Defended DynaServe beside the others", box=SIMPLE)
    table.pad_edge, table.collapse_padding = False, True
    for heading in ("criterion", "request", "server", "clients"):
        table.add_column(heading, justify="right" if heading == "clients" else "left")
    table.add_column("its p50\n/ the other's", justify="right")
    table.add_column("bound", justify="right")
    table.add_column("")
    for each in verdicts:
        value, low, high = each["ratio"]
        table.add_row(
            each["criterion"],
            f"{each['rows']} x {each['classes']} {each['way']}",
            each["server"],
            str(each["clients"]),
            f"{value:.3f} ({low:.3f} to {high:.3f})",
            f"{each['at_most']:.3f}",
            each["verdict"],
        )
    console.print(table)
    console.print(NOTE)
