"""For GitHub Actions: workflow commands, which become annotations of the run."""

from __future__ import annotations

from dynaserve.canarybench.report import Leak, Report
from dynaserve.canarybench.reports.text import headline


def to_github(report: Report, source: str) -> str:
    """Return one workflow command per leak and stale entry, and one with the verdict."""
    commands = [_leak(leak, source) for leak in report.leaks]
    commands += [
        _command("error", f"The baseline accepts {entry}, and no finding is like that.")
        for entry in report.stale_baseline
    ]
    verdict = f"{headline(report)}. Canaries: {report.canary_rate}."
    commands.append(_command("notice" if report.passed else "error", verdict))
    return "\n".join(commands)


def _leak(leak: Leak, source: str) -> str:
    level = "notice" if leak.accepted else "error" if leak.gates else "warning"
    place = {} if source == "-" else {"file": source}
    if leak.line is not None:
        place |= {"line": str(leak.line), "col": str(leak.column)}
    return _command(
        level,
        f"Canary {leak.canary_id} ({leak.kind}, {leak.tier}, hash {leak.keyed_hash}) is "
        f"published by cluster {leak.cluster} at {leak.place}.",
        **place,
    )


def _command(level: str, message: str, **properties: str) -> str:
    shown = {**properties, "title": "canary audit"}
    listed = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in shown.items())
    return f"::{level} {listed}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    """Escape as the runner's own toolkit does: what ends a message, and what ends a property."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
