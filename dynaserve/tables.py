"""A table of text cells, which a terminal or a page lays out.

It knows nothing of what is in it; who prints it on a terminal is the command line.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Cells under headings; the first column is text, the others are numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Return it for a page in Markdown."""
        lines = [self.columns, ("-", *["-:"] * (len(self.columns) - 1)), *self.rows]
        body = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        return f"**{self.title}**\n\n{body}\n"
