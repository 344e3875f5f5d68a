"""How the kernels scale: with the classes, with the batch, and with a second thread.

Writes a plot of nanoseconds per element and of the ratio to ``torch.softmax``, and the numbers
behind it as JSON.

    python -m benchmarks.scaling            # about a minute
    python -m benchmarks.scaling --smoke    # a few small sizes: only proves that it runs
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console

from benchmarks import machine
from benchmarks.contenders import KERNELS, Call, random_batches
from benchmarks.interleaved import time_rounds

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / ".benchmarks" / "scaling.json"
PLOT = RESULTS.with_suffix(".png")

CLASSES = [10, 20, 50, 100, 128, 129, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000,
           200000]  # fmt: skip
"""Both sides of 128 are here: the kernels change their layout there."""
BATCHES = [2**power for power in range(17)]
THREADED = (16, 128256)


class Sweep(NamedTuple):
    """Sizes along one axis, and what stays fixed."""

    title: str
    axis: str
    sizes: list[tuple[int, int]]


SWEEPS = [
    Sweep("16 rows", "classes", [(16, k) for k in CLASSES]),
    Sweep("10 classes", "rows", [(n, 10) for n in BATCHES]),
    Sweep("1000 classes", "rows", [(n, 1000) for n in BATCHES]),
]
SMOKE_SWEEPS = [sweep._replace(sizes=sweep.sizes[:3]) for sweep in SWEEPS]


def measure(sweep: Sweep, seconds: float) -> dict[str, Any]:
    """Return the median seconds per call of each kernel and of softmax, one thread each."""
    torch.set_num_threads(1)
    taken: dict[str, list[float]] = {contender.name: [] for contender in KERNELS}
    for size in sweep.sizes:
        batches = random_batches(*size)
        contenders = {contender.name: contender.calls(batches) for contender in KERNELS}
        for name, values in time_rounds(contenders, seconds=seconds).items():
            taken[name].append(float(np.median(values)))
    return {"title": sweep.title, "axis": sweep.axis, "sizes": sweep.sizes, "seconds": taken}


def speedup(size: tuple[int, int], seconds: float) -> dict[str, float]:
    """Return how many times faster two threads are than one, by kernel."""
    batches = random_batches(*size)
    result = {}
    for kernel in KERNELS[:2]:
        calls = kernel.calls(batches)
        contenders: dict[str, list[Call]] = {
            str(threads): [(partial(function, threads=threads), args) for function, args in calls]
            for threads in (1, 2)
        }
        taken = time_rounds(contenders, seconds=seconds)
        result[kernel.name] = float(np.median(taken["1"]) / np.median(taken["2"]))
    return result


STYLES = {
    "dynanoise": ("dynanoise", "#c2410c", "o"),
    "rank_template": ("rank_template", "#0f766e", "s"),
    "softmax": ("torch.softmax", "#475569", "^"),
}


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw a column for each sweep: nanoseconds per element above, the ratio below."""
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(10.5, 6), layout="constrained")
        axes = figure.subplots(2, len(results["sweeps"]), sharex="col", sharey="row")
        for column, sweep in zip(axes.T, results["sweeps"], strict=True):
            _draw_sweep(column[0], column[1], sweep)
        axes[0, 0].set_ylabel("ns per element")
        axes[1, 0].set_ylabel("time relative to torch.softmax")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=3,
                      frameon=False)  # fmt: skip
        facts = results["machine"]
        figure.suptitle(
            f"One thread, float32: {machine.processor(facts)}, {facts['isa']}",
            x=0.01, ha="left", fontsize=10,
        )  # fmt: skip
        figure.savefig(path, dpi=110)


def _draw_sweep(time: Axes, ratio: Axes, sweep: dict[str, Any]) -> None:
    elements = np.array(sweep["sizes"]).prod(axis=1)
    where = np.array(sweep["sizes"])[:, int(sweep["axis"] == "classes")]
    softmax = np.array(sweep["seconds"]["softmax"])
    for name, (label, color, marker) in STYLES.items():
        seconds = np.array(sweep["seconds"][name])
        look: dict[str, Any] = {"color": color, "marker": marker, "markersize": 3.5}
        time.loglog(where, 1e9 * seconds / elements, label=label, **look)
        if name != "softmax":
            ratio.semilogx(where, seconds / softmax, **look)
    ratio.axhline(1, color=STYLES["softmax"][1], linewidth=1)
    ratio.set_ylim(bottom=0)
    time.set_title(sweep["title"], fontsize=10)
    ratio.set_xlabel(sweep["axis"])
    for axes in (time, ratio):
        axes.grid(visible=True, color="#e2e8f0", linewidth=0.6)
        axes.set_axisbelow(True)
    time.yaxis.set_major_formatter("{x:g}")
    ratio.xaxis.set_major_formatter(
        lambda size, _: f"{size / 1000:g}k" if size >= 1000 else f"{size:g}"
    )


def main() -> int:
    """Measure, draw, then print."""
    parser = argparse.ArgumentParser(description="Time the kernels over classes and batch sizes.")
    parser.add_argument("--smoke", action="store_true", help="only prove that everything runs")
    smoke = parser.parse_args().smoke
    sweeps, seconds = (SMOKE_SWEEPS, 0.0) if smoke else (SWEEPS, 0.5)
    results: dict[str, Any] = {
        "machine": machine.facts(),
        "sweeps": [measure(sweep, seconds) for sweep in sweeps],
        "threaded": {"size": THREADED, "speedup": speedup(THREADED, 10 * seconds)},
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results))
    draw(results, PLOT)
    console = Console()
    for name, factor in results["threaded"]["speedup"].items():
        console.print(f"{name} at {THREADED[0]} x {THREADED[1]}: 2 threads {factor:.2f} x faster")
    console.print(f"Plot: {PLOT.relative_to(ROOT)}; numbers: {RESULTS.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
