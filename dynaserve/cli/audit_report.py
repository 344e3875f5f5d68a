"""Where the report of ``dynaserve audit`` goes: to the terminal, as JSON, and as a page.

It measures and judges nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dynaserve.cli.written import remove, require_free, write

if TYPE_CHECKING:
    from dynaserve.mia.report import Report

_GENERATOR = b'<meta name="generator" content="DynaServe '
"""In the head of every page that the command writes."""
_HEAD = 1024
"""Bytes of a page that hold it."""


def make_way(page: Path | None, *, force: bool) -> None:
    """Remove the report from before: it must not survive an error now."""
    if page is None:
        return
    from dynaserve.serving.models.imports import require  # noqa: PLC0415 - light start

    require_free(page, force=force or _is_report(page))
    require("jinja2", extra="audit")
    remove(page)


def _is_report(path: Path) -> bool:
    """Whether there is no file at a path, or a page that this command has written."""
    if not path.is_file():
        return True
    with path.open("rb") as file:
        return _GENERATOR in file.read(_HEAD)


def write_page(path: Path, report: Report) -> None:
    """Write a report as one page."""
    from dynaserve.mia.report import to_html  # noqa: PLC0415 - light start

    write(path, to_html(report).encode())


def show(report: Report, *, as_json: bool, quiet: bool) -> None:
    """Print a report for people, as JSON, or its verdict alone; then which gates failed."""
    from dynaserve.mia.report import in_words, print_text  # noqa: PLC0415 - light start

    if as_json:
        typer.echo(json.dumps(report.to_dict()))
    elif quiet:
        typer.echo(in_words(report.audit).verdict)
    else:
        print_text(report)
        return
    for gate in report.gates:
        if gate.failed:
            typer.echo(f"gate failed: {gate}", err=True)
