"""Writes the performance section of the README from what ``make bench`` measured.

It measures nothing, and refuses results of different machines. The plot goes to
``docs/figures``. With the post-processors of ``make bench-peers`` measured, they are there too.

    python -m benchmarks.readme            # rewrite the section
    python -m benchmarks.readme --print    # only show it
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import machine, report, scaling, service

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
FIGURE = ROOT / "docs" / "figures" / "scaling.png"

BEGIN = "<!-- performance: written by `make bench-readme`, do not edit -->"
END = "<!-- performance: end -->"


class ResultsError(Exception):
    """The results do not make a section; the message says what to do."""


def load(path: Path) -> dict[str, Any]:
    """Return results as a suite wrote them."""
    if not path.exists():
        raise ResultsError(f"{path.relative_to(ROOT)} is missing: run make bench first")
    results: dict[str, Any] = json.loads(path.read_text())
    return results


def one_machine(*found: machine.Facts) -> str:
    """Return the machine that all results come from, in words."""
    sentences = {machine.sentence(facts) for facts in found}
    if len(sentences) > 1:
        raise ResultsError("results of different machines: " + " | ".join(sorted(sentences)))
    return sentences.pop()


def markdown(headings: list[str], rows: list[list[str]]) -> str:
    """Return a table."""
    rule = ["---"] * len(headings)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [headings, rule, *rows])


def kernels(results: dict[str, Any]) -> list[str]:
    """Return the paragraphs about the kernels."""
    medians = report.Medians(results["benchmarks"])
    parts = []
    for comparison in report.COMPARISONS:
        if rows := medians.cells(comparison):
            headings = ["rows x classes", *(column.heading for column in comparison.columns)]
            parts += [f"{comparison.title}. {comparison.note}", markdown(headings, rows)]
    return parts


def scales(results: dict[str, Any], figure: str) -> list[str]:
    """Return the paragraphs about classes, batches and threads."""
    rows, classes = results["threaded"]["size"]
    gains = " and ".join(
        f"`{name}` {gain:.2f} times faster" for name, gain in results["threaded"]["speedup"].items()
    )
    return [
        f"![Nanoseconds per element and time relative to torch.softmax]({figure})",
        f"A second thread makes {gains} at {rows} x {classes}.",
    ]


def requests(results: dict[str, Any]) -> list[str]:
    """Return the paragraphs about whole requests."""
    rows = [cells for case in results["cases"] for cells in service.cells(case)]
    return [
        f"JSON requests to `dynaserve serve` on loopback, one worker. {service.NOTE}",
        markdown(service.COLUMNS, rows),
    ]


def section() -> str:
    """Return the section, as text."""
    timed, scaled, served = (load(suite.RESULTS) for suite in (report, scaling, service))
    where = one_machine(timed["machine_info"], scaled["machine"], served["machine"])
    parts = [
        f"Measured on: {where}. `make bench` measures yours.",
        *kernels(timed),
        *scales(scaled, str(FIGURE.relative_to(ROOT))),
        *requests(served),
    ]
    return "\n\n".join(parts)


def replaced(text: str, section: str) -> str:
    """Return a document with another section between the two marks."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ResultsError(f"the document must hold {BEGIN} once, and {END} once after it")
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{section}\n\n{END}{rest.partition(END)[2]}"


def main() -> int:
    """Write the section."""
    parser = argparse.ArgumentParser(description="Write the README's performance section.")
    parser.add_argument("--print", action="store_true", help="show the section, write nothing")
    only_print = parser.parse_args().print
    try:
        text = section()
        if only_print:
            print(text)
            return 0
        README.write_text(replaced(README.read_text(), text))
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 1
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    scaling.draw(load(scaling.RESULTS), FIGURE)
    print(f"{README.name} and {FIGURE.relative_to(ROOT)} are written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
