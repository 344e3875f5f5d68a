"""Runs ``test_kernels.py`` and prints what the kernels cost, as ratios.

Nanoseconds say more about the machine than about the code, so none are printed; they are in the
JSON file that pytest-benchmark writes. A slow kernel is a number here and never a failure (that
is ``check.py``'s work); a benchmark that raises or returns no probabilities is one.

    python -m benchmarks.report            # all sizes, about two minutes
    python -m benchmarks.report --smoke    # once over, a few rounds each: only proves that it runs
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from benchmarks import machine

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / ".benchmarks" / "kernels.json"

CAREFUL = ["--benchmark-max-time=0.4", "--benchmark-min-time=0.0005", "--benchmark-disable-gc"]
SMOKE = ["--benchmark-max-time=0.001", "--benchmark-min-rounds=2", "-k", "sweep0"]

Size = tuple[int, int]


class Ratio(NamedTuple):
    """One column: how many times longer ``above`` takes than ``below``."""

    heading: str
    above: str
    below: str


class Comparison(NamedTuple):
    """One table."""

    title: str
    note: str
    columns: list[Ratio]


COMPARISONS = [
    Comparison(
        "Time per call, one thread each, float32",
        "softmax: torch.softmax alone. eager torch, torch.compile, numpy: the formula of "
        "dynanoise without a kernel (benchmarks/formulas.py).",
        [
            Ratio("dynanoise / softmax", "dynanoise", "softmax"),
            Ratio("rank_template / softmax", "rank_template", "softmax"),
            Ratio("eager torch / dynanoise", "eager_torch", "dynanoise"),
            Ratio("torch.compile / dynanoise", "torch_compile", "dynanoise"),
            Ratio("numpy / dynanoise", "plain_numpy", "dynanoise"),
        ],
    ),
    Comparison(
        "Post-processors of IBM's adversarial-robustness-toolbox",
        "They take probabilities, so the softmax before them is not in their time.",
        [
            Ratio(f"{name} / dynanoise", f"art_{name}", "dynanoise")
            for name in ("HighConfidence", "Rounded", "GaussianNoise", "ReverseSigmoid")
        ],
    ),
]


class Medians:
    """Median seconds per call, by size, sweep and contender."""

    def __init__(self, benchmarks: list[dict[str, Any]]) -> None:
        self._seconds: dict[Size, dict[int, dict[str, float]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        self.contenders: set[str] = set()
        for benchmark in benchmarks:
            case = benchmark["extra_info"]
            rows, classes = case["size"]
            sweep = self._seconds[rows, classes][case["sweep"]]
            sweep[case["contender"]] = benchmark["stats"]["median"]
            self.contenders.add(case["contender"])

    def sizes(self) -> list[Size]:
        """Return the (rows, classes) that were measured, in order."""
        return list(self._seconds)

    def ratio(self, size: Size, above: str, below: str) -> float:
        """Return how many times longer ``above`` takes: the median over the sweeps."""
        sweeps = self._seconds[size].values()
        return statistics.median(sweep[above] / sweep[below] for sweep in sweeps)

    def cells(self, comparison: Comparison) -> list[list[str]]:
        """Return a comparison as text, a row for each size; none where a contender is missing."""
        if not {column.above for column in comparison.columns} <= self.contenders:
            return []
        return [
            [
                f"{rows} x {classes}",
                *(
                    f"{self.ratio((rows, classes), column.above, column.below):.2f}"
                    for column in comparison.columns
                ),
            ]
            for rows, classes in self.sizes()
        ]


def measure(options: list[str]) -> int:
    """Run the benchmarks in a process of their own; return its exit code."""
    RESULTS.parent.mkdir(exist_ok=True)
    pytest = [sys.executable, "-m", "pytest", "benchmarks/test_kernels.py", "--quiet"]
    save = [f"--benchmark-json={RESULTS}", "--benchmark-quiet"]
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(RESULTS.parent / "inductor")}
    command = [*pytest, *save, *options]
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if code == 0:
        results = json.loads(RESULTS.read_text()) | {"machine_info": machine.facts()}
        RESULTS.write_text(json.dumps(results))
    return code


def print_tables(console: Console, results: dict[str, Any]) -> None:
    """Print every comparison that was measured."""
    medians = Medians(results["benchmarks"])
    for comparison in COMPARISONS:
        rows = medians.cells(comparison)
        if not rows:
            continue
        # as narrow as a terminal of 80 columns needs
        table = Table(title=comparison.title, caption=comparison.note, box=SIMPLE)
        table.pad_edge, table.collapse_padding = False, True
        table.add_column("rows x\nclasses", no_wrap=True)
        for column in comparison.columns:
            heading = column.heading.replace(" ", "\n").replace("/\n", "/ ")
            table.add_column(heading, justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        console.print(table)
    console.print(machine.sentence(results["machine_info"]))


def main() -> int:
    """Measure, then print."""
    parser = argparse.ArgumentParser(description="Time the kernels against what they replace.")
    parser.add_argument("--smoke", action="store_true", help="only prove that everything runs")
    smoke = parser.parse_args().smoke
    code = measure(SMOKE if smoke else CAREFUL)
    if code == 0:
        console = Console()
        print_tables(console, json.loads(RESULTS.read_text()))
        if smoke:
            console.print("A smoke run: these numbers mean nothing.")
        console.print(f"Timings: {RESULTS.relative_to(ROOT)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
