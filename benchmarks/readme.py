"""Writes the performance section of the README from what ``make bench`` and its like measured.

It measures nothing. The section has three blocks, kernels, requests and other servers, each from
one machine and naming it; a block without results here stays as it is. The plot goes to
``docs/figures``. With the post-processors of ``make bench-art`` measured, they are there too.

    python -m benchmarks.readme            # rewrite the blocks
    python -m benchmarks.readme --print    # only show them
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import machine, report, scaling, service
from benchmarks.peers import __main__ as others
from benchmarks.peers import tables

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
FIGURE = ROOT / "docs" / "figures" / "scaling.png"


class ResultsError(Exception):
    """The results do not make a section; the message says what to do."""


def load(path: Path) -> dict[str, Any]:
    """Return results as a suite wrote them."""
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


def times(results: dict[str, Any]) -> list[str]:
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


def kernels() -> list[str]:
    """Return the block about the kernels."""
    timed, scaled = load(report.RESULTS), load(scaling.RESULTS)
    where = one_machine(timed["machine_info"], scaled["machine"])
    figure = str(FIGURE.relative_to(ROOT))
    return [measured_on(where), *times(timed), *scales(scaled, figure)]


def requests() -> list[str]:
    """Return the block about whole requests."""
    served = load(service.RESULTS)
    rows = [cells for case in served["cases"] for cells in service.cells(case)]
    return [
        "Requests to `dynaserve serve` on loopback, one worker: JSON to `/predict`, and raw "
        f"tensors (binary) to `/v2`. {service.NOTE}",
        measured_on(machine.sentence(served["machine"])),
        markdown(service.COLUMNS, rows),
    ]


def peers() -> list[str]:
    """Return the block about other servers."""
    found = load(others.RESULTS)
    cases = found["cases"]
    headings = [
        f"{case['rows']} x {case['classes']}, {case['clients']} client{'s' * (case['clients'] > 1)}"
        for case in cases
    ]
    rows = [
        [name, *(tables.cells(name, case["contestants"][name])[1] for case in cases)]
        for name in cases[0]["contestants"]
    ]
    return [
        "The same linear model behind other servers, JSON or raw tensors (binary): median "
        f"milliseconds of a request. {tables.NOTE}",
        measured_on(machine.sentence(found["machine"]), "make bench-peers"),
        markdown(["server", *headings], rows),
    ]


def measured_on(where: str, command: str = "make bench") -> str:
    """Return the line that names a machine."""
    return f"Measured on: {where}. `{command}` measures yours."


Block = Callable[[], list[str]]
BLOCKS: dict[Block, tuple[Any, ...]] = {
    kernels: (report, scaling),
    requests: (service,),
    peers: (others,),
}
"""What writes a block, named as its marks are -> the suites whose results it needs."""


def marks(block: Block) -> tuple[str, str]:
    """Return what stands before a block and after it."""
    name = block.__name__
    return f"<!-- {name}: written by `make bench-readme`, do not edit -->", f"<!-- {name}: end -->"


def measured() -> list[Block]:
    """Return the blocks whose results are here."""
    found = [block for block, of in BLOCKS.items() if all(suite.RESULTS.exists() for suite in of)]
    if not found:
        raise ResultsError("there are no results: run make bench first")
    return found


def replaced(text: str, block: Block, content: str) -> str:
    """Return a document with another content between the marks of a block."""
    begin, end = marks(block)
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ResultsError(f"the document must hold {begin} once, and {end} once after it")
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n\n{content}\n\n{end}{rest.partition(end)[2]}"


def main() -> int:
    """Write the blocks."""
    parser = argparse.ArgumentParser(description="Write the README's performance section.")
    parser.add_argument("--print", action="store_true", help="show the blocks, write nothing")
    only_print = parser.parse_args().print
    text = README.read_text()
    try:
        for block in (found := measured()):
            content = "\n\n".join(block())
            if only_print:
                print(content)
            text = replaced(text, block, content)
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 1
    if only_print:
        return 0
    README.write_text(text)
    if kernels in found:
        FIGURE.parent.mkdir(parents=True, exist_ok=True)
        scaling.draw(load(scaling.RESULTS), FIGURE)
    print(f"{README.name}: {' and '.join(block.__name__ for block in found)} are written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
