"""Runs ``test_kernels.py`` and prints what the kernels cost, as ratios.

Nanoseconds say more about the machine than about the code, so none are printed; they are in the
JSON file that pytest-benchmark writes. A slow kernel is a number here and never a failure; a
benchmark that raises or returns something other than probabilities is one.

    python benchmarks/report.py            # all sizes, about a minute
    python benchmarks/report.py --smoke    # once over, a few rounds each: only proves that it runs
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / ".benchmarks" / "kernels.json"

CAREFUL = ["--benchmark-max-time=0.4", "--benchmark-min-time=0.0005", "--benchmark-disable-gc"]
SMOKE = ["--benchmark-max-time=0.001", "--benchmark-min-rounds=2", "-k", "sweep0"]

COLUMNS = [
    ("dynanoise\n/ softmax", "dynanoise", "softmax"),
    ("rank_template\n/ softmax", "rank_template", "softmax"),
    ("eager torch\n/ dynanoise", "eager_torch", "dynanoise"),
    ("numpy\n/ dynanoise", "plain_numpy", "dynanoise"),
]


class Medians:
    """Median seconds per call, by size, sweep and contender."""

    def __init__(self, benchmarks: list[dict[str, Any]]) -> None:
        self._seconds: dict[tuple[int, ...], dict[int, dict[str, float]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        for benchmark in benchmarks:
            case = benchmark["extra_info"]
            sweep = self._seconds[tuple(case["size"])][case["sweep"]]
            sweep[case["contender"]] = benchmark["stats"]["median"]

    def sizes(self) -> list[tuple[int, ...]]:
        """Return the (rows, classes) that were measured, in order."""
        return list(self._seconds)

    def ratio(self, size: tuple[int, ...], numerator: str, denominator: str) -> float:
        """Return how many times longer ``numerator`` takes: the median over the sweeps."""
        sweeps = self._seconds[size].values()
        return statistics.median(sweep[numerator] / sweep[denominator] for sweep in sweeps)


def measure(options: list[str]) -> int:
    """Run the benchmarks in a process of their own; return its exit code."""
    RESULTS.parent.mkdir(exist_ok=True)
    pytest = [sys.executable, "-m", "pytest", "benchmarks/test_kernels.py", "--quiet"]
    save = [f"--benchmark-json={RESULTS}", "--benchmark-quiet"]
    return subprocess.run([*pytest, *save, *options], cwd=ROOT, check=False).returncode


def table(results: dict[str, Any]) -> Table:
    """Return the ratios of one run, a row for each size."""
    benchmarks = results["benchmarks"]
    medians = Medians(benchmarks)
    ratios = Table(
        title=f"Time per call, one thread each, float32, {benchmarks[0]['extra_info']['isa']}",
        caption="softmax: torch.softmax alone; eager torch, numpy: benchmarks/peers.py",
    )
    ratios.add_column("rows x\nclasses")
    for heading, _, _ in COLUMNS:
        ratios.add_column(heading, justify="right", no_wrap=True)
    for size in medians.sizes():
        cells = (f"{medians.ratio(size, above, below):.2f}" for _, above, below in COLUMNS)
        ratios.add_row(f"{size[0]} x {size[1]}", *cells)
    return ratios


def main() -> int:
    """Measure, then print."""
    parser = argparse.ArgumentParser(description="Time the kernels against torch and numpy.")
    parser.add_argument("--smoke", action="store_true", help="only prove that everything runs")
    smoke = parser.parse_args().smoke
    code = measure(SMOKE if smoke else CAREFUL)
    if code == 0:
        console = Console()
        console.print(table(json.loads(RESULTS.read_text())))
        if smoke:
            console.print("A smoke run: these numbers mean nothing.")
        console.print(f"Timings: {RESULTS.relative_to(ROOT)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
