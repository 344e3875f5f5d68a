"""The report as one page that needs nothing else: no script, no font, no image, no request.

Everything in it is escaped by the template engine; what this module hands over is text and
numbers, never markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynaserve._version import __version__
from dynaserve.extras import needing
from dynaserve.mia.report import curves, words
from dynaserve.mia.report.report import Report
from dynaserve.mia.results import AttackResult, Audit, Leak

_TEMPLATE = "page.html.j2"
_MOST_VALUES = 6
"""A template of many classes has many parameters; the page shows the first."""


def to_html(report: Report) -> str:
    """Return the page.

    Raises
    ------
    ImportError
        Without jinja2, naming the extra that has it.
    """
    with needing("an HTML report needs jinja2", extra="audit"):
        import jinja2  # noqa: PLC0415 - optional
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"decimal": words.decimal, "percent": words.percent, "span": words.span}
    return environment.get_template(_TEMPLATE).render(_context(report))


@dataclass(frozen=True)
class _Row:
    """An attack in the table."""

    attack: str
    title: str
    reads: str
    before: AttackResult
    after: AttackResult


@dataclass(frozen=True)
class _Bar:
    """The split leak of one form of asking; widths are shares of the way from .5 to 1."""

    asked: str
    label: str
    leak: Leak
    floor_width: float
    scores_width: float

    @classmethod
    def of(cls, leak: Leak, label: str) -> _Bar:
        floor = min(max(leak.floor - 0.5, 0) * 2, 1)
        total = min(max(leak.total - 0.5, 0) * 2, 1)
        return cls(words.asked(leak.form), label, leak, 100 * floor, 100 * (total - floor))


def _context(report: Report) -> dict[str, Any]:
    audit = report.audit
    axes = curves.Axes.for_rows(audit.non_members)
    defended = words.is_defended(audit)
    panels = [("Without the defense", axes.lines(audit.attacks_before))] if defended else []
    panels.append(("With the defense" if defended else "No defense", axes.lines(audit.attacks)))
    return {
        "version": __version__,
        "report": report,
        "audit": audit,
        "said": words.in_words(audit),
        "defended": defended,
        "width": curves.WIDTH,
        "height": curves.HEIGHT,
        "axes": axes,
        "panels": panels,
        "rows": _rows(audit),
        "most_added": max(leak.scores_add for leak in audit.leak.values()),
        "most_added_before": max(leak.scores_add for leak in audit.leak_before.values()),
        "bars": _bars(audit, defended=defended),
        "parameters": _shown(report.parameters),
        "asked": words.asked,
        "rate": words.rate,
    }


def _rows(audit: Audit) -> list[_Row]:
    before = words.strongest(audit.attacks_before)
    return [
        _Row(name, words.title(name), after.access, before[name], after)
        for name, after in words.strongest(audit.attacks).items()
    ]


def _bars(audit: Audit, *, defended: bool) -> list[list[_Bar]]:
    """Return for each form of asking the bar without the defense, if there is one, and with it."""
    bars = []
    for form, leak in audit.leak.items():
        group = [_Bar.of(audit.leak_before[form], "without")] if defended else []
        bars.append([*group, _Bar.of(leak, "with" if defended else "")])
    return bars


def _shown(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), _value(value)) for name, value in parameters.items()]


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        if any(isinstance(one, (list, tuple)) for one in value):
            return "; ".join(map(_value, value))
        shown = ", ".join(map(_value, value[:_MOST_VALUES]))
        more = f", … ({len(value)} values)" if len(value) > _MOST_VALUES else ""
        return shown + more
    return f"{value:.4g}" if isinstance(value, float) else str(value) or "–"
