"""The report for a terminal: verdict, table, split of the leak, plain words. Fits 100 columns."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from dynaserve.mia.report import words
from dynaserve.mia.report.report import Report
from dynaserve.mia.results import AttackResult, Audit, Leak

WIDTH = 100
_SIDE_BY_SIDE = 100
"""Narrower than this, the tables before and after stand one under the other."""

Results = dict[str, AttackResult]


def print_text(report: Report, console: Console | None = None) -> None:
    """Print a report, at most 100 columns wide; narrower terminals get narrower tables.

    Parameters
    ----------
    console
        Where to; None is standard output, in colour if it is a terminal.
    """
    console = console or Console(highlight=False)
    if console.is_terminal:
        width = min(console.width, WIDTH)
        console.print(to_renderable(report, width), width=width)
    else:
        console.file.write(to_text(report))


def to_text(report: Report, width: int = WIDTH) -> str:
    """Return a report as plain text."""
    buffer = io.StringIO()
    Console(file=buffer, width=width, highlight=False).print(to_renderable(report, width))
    return "".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines())


def to_renderable(report: Report, width: int = WIDTH) -> RenderableType:
    """Return the report as something that rich can print in ``width`` columns."""
    audit = report.audit
    said = words.in_words(audit)
    parts: list[RenderableType] = [
        Text(""),
        Text(said.verdict, style="bold"),
        _setting(report),
        _section("Attacks, each as it did best"),
        _attacks(audit, width),
        Text(_legend(audit), style="dim"),
        _section("What is left of it, by how an attacker asks"),
        _leaks(audit),
        _section("For honest users"),
        _utility(audit),
        _section("In plain words"),
        *_bullets(said.meaning),
        *_bullets(said.advice, mark="→"),
        _section("Not tested"),
        *_bullets(audit.not_tested),
    ]
    if report.gates:
        parts += [_section("Gates"), _gates(report)]
    return Group(*parts)


def _setting(report: Report) -> RenderableType:
    audit = report.audit
    shadows = f"{audit.shadows} shadow models" if audit.shadows else "no shadow models"
    knowing = "know the defense" if audit.protocol == "adaptive" else "do not know the defense"
    table = Table.grid(padding=(0, 2, 0, 0))
    source = f"{report.source}: " if report.source else ""
    rows = (
        f"{source}{audit.members:,} members, {audit.non_members:,} non-members, "
        f"{audit.classes} classes, {shadows}"
    )
    table.add_row("defense", Text(audit.defense))  # as text: a name may hold brackets
    table.add_row("data", Text(rows))
    table.add_row("protocol", f"{audit.protocol}: attackers {knowing}; seed {audit.seed}")
    return Padding(table, (1, 0, 0, 0))


def _attacks(audit: Audit, width: int) -> RenderableType:
    before, after = words.strongest(audit.attacks_before), words.strongest(audit.attacks)
    if not words.is_defended(audit):
        return _with_names(_figures(after, "without a defense"), after)
    left = _figures(before, "without the defense")
    right = _figures(after, "with the defense")
    if width >= _SIDE_BY_SIDE:
        return _with_names(left, after, right)
    return Group(_with_names(left, before), Text(""), _with_names(right, after))


def _with_names(figures: Table, results: Results, *more: Table) -> Table:
    names = Table(box=None, padding=0, title=" ", show_header=True)
    names.add_column("attack\n", no_wrap=True)
    for name in results:
        names.add_row(name)
    whole = Table.grid(padding=(0, 2, 0, 0))
    whole.add_row(names, figures, *more)
    return whole


def _figures(results: Results, heading: str) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, title=heading, title_style="bold")
    for column in ("bal.\nacc.", "AUC\n", "95%\ninterval", "TPR\n@1%", "TPR\n@.1%"):
        table.add_column(column, justify="right", no_wrap=True)
    highest = max(result.auc for result in results.values())
    for result in results.values():
        table.add_row(
            words.decimal(result.balanced_accuracy),
            Text(words.decimal(result.auc), style=_colour(result.auc)),
            Text(words.span(result.auc_interval), style="dim"),
            words.rate(result, "tpr_at_1pct_fpr"),
            words.rate(result, "tpr_at_01pct_fpr"),
            style="bold" if result.auc == highest else "",
        )
    return table


def _legend(audit: Audit) -> str:
    thresholds = {
        "shadows": "a threshold learned on the shadows",
        "target": "the best threshold, for want of shadows",
        "paper": "the paper's thresholds",
    }
    used = {result.threshold_from: None for result in audit.attacks.values()}
    learned = " or ".join(thresholds[one] for one in used)
    return (
        f"bal. acc.: balanced accuracy at {learned}. TPR @1%: share of members found at a false "
        "alarm rate of 1%. Guessing gives .500, .500, 1% and 0.1%. –: too few non-members to say."
    )


def _leaks(audit: Audit) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("asked")
    if words.is_defended(audit):
        table.add_column("best AUC\nundefended", justify="right")
    table.add_column("best AUC\n", justify="right")
    table.add_column("label alone\n(floor)", justify="right")
    table.add_column("scores\nadd", justify="right")
    table.add_column("best attack\n")
    table.add_column("larger part\n")
    for form, leak in audit.leak.items():
        row: list[Any] = [words.asked(form)]
        if words.is_defended(audit):
            row.append(words.decimal(audit.leak_before[form].total))
        table.add_row(*row, *_leak_row(leak))
    return table


def _leak_row(leak: Leak) -> tuple[RenderableType, ...]:
    return (
        Text(words.decimal(leak.total), style=_colour(leak.total)),
        words.decimal(leak.floor),
        words.decimal(leak.scores_add),
        leak.total_attack.partition("@")[0],
        "no clear leak" if leak.dominant == "none" else f"the {leak.dominant}",
    )


def _utility(audit: Audit) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    rows = {
        "accuracy on non-members": (audit.accuracy_before, audit.accuracy_after),
        "accuracy on members": (audit.member_accuracy_before, audit.member_accuracy_after),
        "calibration error": (audit.calibration_error_before, audit.calibration_error_after),
    }
    table.add_column("")
    table.add_column("without", justify="right")
    if words.is_defended(audit):
        table.add_column("with", justify="right")
    for name, (before, after) in rows.items():
        cells = [words.decimal(before), words.decimal(after)]
        table.add_row(name, *(cells if words.is_defended(audit) else cells[:1]))
    if words.is_defended(audit):
        table.add_row("MIDPUT (privacy gained less accuracy lost)", "", words.decimal(audit.midput))
    return table


def _gates(report: Report) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for gate in report.gates:
        verdict = Text("FAILED", style="bold red") if gate.failed else Text("ok", style="green")
        table.add_row(verdict, Text(gate.expression), f"measured {words.decimal(gate.value)}")
    return table


def _section(heading: str) -> RenderableType:
    return Padding(Rule(Text(heading, style="bold"), align="left", style="dim"), (1, 0, 0, 0))


def _bullets(sentences: Iterable[str], mark: str = "·") -> list[RenderableType]:
    table = Table.grid(padding=(0, 1, 0, 0))
    for sentence in sentences:
        table.add_row(mark, Text(sentence))
    return [table]


def _colour(auc: float) -> str:
    return "red" if auc >= 0.7 else "yellow" if auc >= 0.55 else "green"
