"""The gate: fails when a kernel got slower, relative to ``torch.softmax`` on the same logits.

Never absolute times. Contenders alternate by the millisecond within one process, and a ratio is
that of their fast rounds (the 10% quantile), which a busy machine hardly moves. What memory a
process got does move it, by up to 8%; so whatever is beyond its bound is measured again, in a
fresh process, and its best attempt counts. A kernel that is really slower fails every attempt.

Bounds are in ``bounds.toml``, for each instruction set; on another processor than the one where
they were measured they are loosened, and then only catch what is badly wrong.

    python -m benchmarks.check                   # exits 1 beyond a bound, 5 without any bounds
    python -m benchmarks.check --write-bounds    # bounds for the instruction set in force
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
import torch
from rich.console import Console
from rich.table import Table

from benchmarks import machine
from benchmarks.contenders import KERNELS, random_batches
from benchmarks.interleaved import Seconds, time_rounds
from dynaserve import _core

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
BOUNDS = Path(__file__).with_name("bounds.toml")

SIZES = ["1x10", "64x10", "128x100", "1x1000", "64x1000", "1x32000"]
"""Each layout and each regime, at sizes whose time is not that of the memory behind them."""
SECONDS = 0.5
ATTEMPTS = 5
HEADROOM = 1.12
"""Bound / measured: above the 8% that processes differ by, and well under 30%."""
ELSEWHERE = 4.0
"""How much more is allowed on a processor that the bounds were not measured on.

For the kernels, one AVX2 processor may be three times as slow as another beside torch.softmax of
64 x 10.
"""
NOTHING_CHECKED = 5

HEADER = f"""\
# The most time that a kernel may take, relative to torch.softmax on the same logits and one
# thread. `make bench-check` compares, `make bench-bounds` writes the section of the instruction
# set in force: {HEADROOM} times what it measures on a quiet machine. See benchmarks/check.py.

"""

Ratios = dict[tuple[str, str], float]
"""(kernel, size) -> time relative to torch.softmax."""


def ratios(size: str, taken: Seconds) -> Ratios:
    """Return each kernel's ratio of fast rounds to softmax's."""
    fast = {name: float(np.quantile(seconds, 0.1)) for name, seconds in taken.items()}
    softmax = fast.pop("softmax")
    return {(kernel, size): seconds / softmax for kernel, seconds in fast.items()}


def measure_here(sizes: list[str]) -> Ratios:
    """Measure in this process."""
    torch.set_num_threads(1)
    found: Ratios = {}
    for size in sizes:
        rows, classes = map(int, size.split("x"))
        batches = random_batches(rows, classes)
        contenders = {contender.name: contender.calls(batches) for contender in KERNELS}
        found |= ratios(size, time_rounds(contenders, seconds=SECONDS))
    return found


def measure(sizes: list[str]) -> Ratios:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.check", "--here", *sizes]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    return {(kernel, size): ratio for kernel, size, ratio in json.loads(output)}


def best_of(measure: Callable[[list[str]], Ratios], limits: Ratios, attempts: int) -> Ratios:
    """Return the lowest ratios found; only what is beyond its limit is measured again."""
    best = dict.fromkeys(limits, float("inf"))
    for _ in range(attempts):
        open_sizes = {size for (kernel, size), limit in limits.items()
                      if best[kernel, size] > limit}  # fmt: skip
        if not open_sizes:
            break
        for case, ratio in measure(sorted(open_sizes)).items():
            best[case] = min(best[case], ratio)
    return best


def limits_of(section: dict[str, Any], processor: str) -> Ratios:
    """Return the limits that a section of ``bounds.toml`` sets on a processor.

    Raises
    ------
    KeyError
        A kernel or size has no bound.
    """
    slack = 1 if section["processor"] == processor else ELSEWHERE
    return {(kernel.name, size): slack * section[kernel.name][size]
            for kernel in KERNELS if kernel.name != "softmax" for size in SIZES}  # fmt: skip


def section_of(measured: list[Ratios], processor: str) -> dict[str, Any]:
    """Return the section of ``bounds.toml`` that several measurements make: their median."""
    section: dict[str, Any] = {"processor": processor}
    for kernel, size in measured[0]:
        middle = statistics.median(found[kernel, size] for found in measured)
        section.setdefault(kernel, {})[size] = round(HEADROOM * middle, 3)
    return section


def check(console: Console) -> int:
    """Compare with the bounds; return the exit code."""
    isa = _core.isa()
    section = tomllib.loads(BOUNDS.read_text()).get(isa)
    if section is None:
        console.print(f"nothing was checked: bounds.toml has no bounds for {isa} kernels")
        return NOTHING_CHECKED
    here = machine.processor(machine.facts())
    limits = limits_of(section, here)
    if section["processor"] != here:
        console.print(
            f"This is {here}. The bounds were measured on {section['processor']} and are "
            f"{ELSEWHERE:g} times as loose here; `make bench-bounds` measures them anew."
        )
    found = best_of(measure, limits, ATTEMPTS)
    table = Table(title=f"Time relative to torch.softmax, {isa}")
    for heading in ("kernel", "size", "ratio", "bound", ""):
        table.add_column(heading, justify="right" if heading in {"ratio", "bound"} else "left")
    for (kernel, size), limit in limits.items():
        ratio = found[kernel, size]
        verdict = "[red]too slow" if ratio > limit else "fine"
        table.add_row(kernel, size, f"{ratio:.3f}", f"{limit:.3f}", verdict)
    console.print(table)
    return int(any(found[case] > limit for case, limit in limits.items()))


def write_bounds(console: Console) -> int:
    """Measure bounds for the instruction set in force; the others stay."""
    bounds = tomllib.loads(BOUNDS.read_text()) if BOUNDS.exists() else {}
    measured = [measure(SIZES) for _ in range(ATTEMPTS)]
    bounds[_core.isa()] = section_of(measured, machine.processor(machine.facts()))
    BOUNDS.write_text(HEADER + tomli_w.dumps(bounds))
    console.print(f"{BOUNDS.relative_to(ROOT)}: bounds for {_core.isa()}")
    return 0


def main() -> int:
    """Check, or write what is checked against."""
    parser = argparse.ArgumentParser(description="Fail when a kernel got slower.")
    parser.add_argument("--write-bounds", action="store_true", help="measure the bounds anew")
    parser.add_argument("--here", nargs="+", metavar="SIZE", help="measure, print JSON")
    options = parser.parse_args()
    if options.here:
        print(json.dumps([[*case, ratio] for case, ratio in measure_here(options.here).items()]))
        return 0
    return (write_bounds if options.write_bounds else check)(Console())


if __name__ == "__main__":
    sys.exit(main())
