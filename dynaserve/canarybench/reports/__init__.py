"""A report as people and machines read it. Each form is a module with one function."""

from __future__ import annotations

from typing import Literal, get_args

from dynaserve.canarybench.report import Report
from dynaserve.canarybench.reports.github import to_github
from dynaserve.canarybench.reports.junit import to_junit
from dynaserve.canarybench.reports.sarif import to_sarif
from dynaserve.canarybench.reports.text import to_text

Form = Literal["text", "json", "junit", "sarif", "github"]
FORMS: tuple[Form, ...] = get_args(Form)


def render(report: Report, form: Form, source: str) -> str:
    """Return a report in one of ``FORMS``, ending in a line feed.

    Parameters
    ----------
    source
        Name of the release: a path relative to where the reader looks for it, or ``-``.
    """
    if form == "json":
        return report.to_json() + "\n"
    make = {"text": to_text, "junit": to_junit, "sarif": to_sarif, "github": to_github}[form]
    return make(report, source).rstrip("\n") + "\n"
