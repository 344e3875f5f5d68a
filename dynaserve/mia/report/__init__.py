"""Reports of an audit: for the terminal, as one self-contained page, as JSON."""

from __future__ import annotations

from dynaserve.mia.report.html import to_html
from dynaserve.mia.report.report import Report, parameters_of
from dynaserve.mia.report.text import print_text, to_text
from dynaserve.mia.report.words import in_words

__all__ = ["Report", "in_words", "parameters_of", "print_text", "to_html", "to_text"]
