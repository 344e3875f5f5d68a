"""For people: the verdict first, then what it rests on. Fits 100 columns."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dynaserve.canarybench.report import Leak, Report

_WIDTH = 100
_MOST_LEAKS = 40


def to_text(report: Report, source: str) -> str:
    """Return the report as plain text."""
    buffer = io.StringIO()
    console = Console(file=buffer, width=_WIDTH, highlight=False, markup=False)
    console.print(Text(f"{headline(report)} ({source})"))
    console.print(_facts(report))
    if report.leaks:
        console.print()
        console.print(_leaks(report.leaks[:_MOST_LEAKS]))
        if len(report.leaks) > _MOST_LEAKS:
            console.print(f"... and {len(report.leaks) - _MOST_LEAKS} more, all in --format json")
    console.print()
    console.print(_tiers(report))
    return "".join(line.rstrip() + "\n" for line in buffer.getvalue().splitlines())


def headline(report: Report) -> str:
    """Return the verdict in one line."""
    failing = [leak for leak in report.leaks if leak.fails]
    reasons = []
    if failing:
        canaries = len({leak.canary_id for leak in failing})
        places = _count(len(failing), "place", "places")
        reasons.append(f"{_count(canaries, 'canary', 'canaries')} leaked, in {places}")
    if stale := len(report.stale_baseline):
        reasons.append(f"stale in the baseline: {_count(stale, 'entry', 'entries')}")
    if reasons:
        return f"FAILED: {'; '.join(reasons)}"
    if report.leaks:
        return "PASSED: what leaked is accepted, or found by tiers that are wrong too often"
    return f"PASSED: {_count(report.canary_rate.total, 'canary', 'canaries')} at risk, none leaked"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _facts(report: Report) -> Table:
    table = _table("", "", header=False)
    table.add_row("canaries leaked", str(report.canary_rate))
    table.add_row("clusters leaking", str(report.cluster_rate))
    if report.canary_rate.total and not report.canary_rate.found:
        table.add_row("", f"zero found is not zero: up to {report.canary_rate.high:.2%} may leak")
    held = report.suppressed
    table.add_row(
        "held back, not judged",
        f"{_count(len(held.clusters), 'cluster', 'clusters')}, "
        f"{_count(held.canaries, 'canary', 'canaries')}",
    )
    shapes = ", ".join(f"{count} {kind}" for kind, count in report.indicators.items())
    table.add_row("looks personal", f"{shapes} (canary or not)")
    for exposure in report.exposures:
        table.add_row(
            f"exposure, {exposure.kind}",
            f"mean {exposure.mean:.1f}, highest {exposure.highest:.1f} "
            f"of {exposure.limit:.1f} bits",
        )
    for entry in report.stale_baseline:
        table.add_row("stale baseline entry", entry)
    table.add_row("positive control", f"all {report.control} canaries found")
    return table


def _leaks(leaks: Iterable[Leak]) -> Table:
    table = _table("tier", "canary", "place", "hash", "")
    for leak in leaks:
        note = "" if leak.fails else "accepted" if leak.accepted else "tier does not gate"
        table.add_row(leak.tier, leak.canary_id, leak.place, leak.keyed_hash[:12], note)
    return table


def _tiers(report: Report) -> Table:
    table = _table("tier", "canaries", "decoys, which are false alarms", "gates")
    for tier in report.tiers:
        decoys = str(tier.decoys) if tier.decoys.total else "none to measure with"
        table.add_row(tier.tier, str(tier.leaks), decoys, "yes" if tier.gates else "no")
    return table


def _table(*columns: str, header: bool = True) -> Table:
    table = Table(box=None, show_header=header, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
