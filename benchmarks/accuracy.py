"""Prints the largest error of the kernels' own exp, log, sin and cos, per instruction set.

The numbers at the head of ``csrc/simd/math.h`` come from here. Errors are in units in the last
place: the distance between neighbouring float32 numbers where the true value lies. The truth is
NumPy in float64, a hundred million times finer.

    python benchmarks/accuracy.py                   # every argument of log, sin and cos: minutes
    python benchmarks/accuracy.py --share 0.0001    # a quick look
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from dynaserve import _core

CHUNK = 2**20


@dataclass(frozen=True)
class Function:
    """One function of the core: the arguments that the kernels give it, and the truth."""

    domain: str
    samples: int
    arguments: Callable[[NDArray[np.float64]], NDArray[Any]]
    """From positions in [0, 1], both ends included, to what ``_core.elementary`` takes."""
    truth: Callable[[NDArray[Any]], NDArray[np.float64]]


def words(position: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Return random words as the angles take them, for the first eighth of a turn.

    The other eighths are this one with sin and cos changing places and signs, so that the larger
    error of the two here is that of both everywhere.
    """
    return np.rint(position * 2**29).astype(np.uint32)


def turned(quarters: int) -> Callable[[NDArray[np.uint32]], NDArray[np.float64]]:
    """Return r -> sin(2 pi r / 2^32 + quarters pi / 2), which stays exact next to its zeros."""

    def truth(word: NDArray[np.uint32]) -> NDArray[np.float64]:
        r = word.astype(np.int64) + quarters * 2**30
        quarter = (r + 2**29) >> 30
        angle = 2 * np.pi * 2.0**-32 * (r - (quarter << 30))
        value = np.where(quarter % 2 == 0, np.sin(angle), np.cos(angle))
        return np.where(quarter % 4 < 2, value, -value)

    return truth


FUNCTIONS = {
    "exp": Function(
        "[-87.3, 0], evenly",
        2**24,
        lambda position: (-87.3 * position).astype(np.float32),
        lambda x: np.exp(x.astype(np.float64)),
    ),
    "log": Function(
        "n / 2^24, n = 1 .. 2^24",
        2**24,
        lambda position: (np.rint(1 + position * (2**24 - 1)) * 2.0**-24).astype(np.float32),
        lambda x: np.log(x.astype(np.float64)),
    ),
    "sin": Function("2 pi r / 2^32, r = 0 .. 2^29", 2**29 + 1, words, turned(0)),
    "cos": Function("2 pi r / 2^32, r = 0 .. 2^29", 2**29 + 1, words, turned(1)),
}


def ulps(value: NDArray[np.float32], truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance from the truth in units in the last place of float32."""
    _, exponent = np.frexp(truth)
    exponent = np.where(truth == 0, -149, np.maximum(exponent - 24, -149))
    return np.ldexp(np.abs(value - truth), -exponent)


def largest_error(name: str, share: float) -> float:
    """Return the largest error in ULP, on the instruction set in force, over a share of samples."""
    function = FUNCTIONS[name]
    samples = max(int(function.samples * share), 2)
    worst = 0.0
    for first in range(0, samples, CHUNK):
        position = np.arange(first, min(first + CHUNK, samples)) / (samples - 1)
        x = function.arguments(position)
        errors = ulps(_core.elementary(name, x), function.truth(x))
        worst = float(np.maximum(worst, errors.max()))  # unlike max(), keeps a NaN
    return worst


def measure_on(isa: str, share: float) -> dict[str, float]:
    """Return every function's largest error on one instruction set.

    The core chooses its instruction set once per process, hence the process.
    """
    command = [sys.executable, __file__, "--here", "--share", str(share)]
    environment = os.environ | {"DYNASERVE_ISA": isa}
    output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout
    errors: dict[str, float] = json.loads(output)
    return errors


def main() -> None:
    """Measure on every instruction set that runs here, then print."""
    parser = argparse.ArgumentParser(description="Measure the kernels' elementary functions.")
    parser.add_argument("--share", type=float, default=1.0, help="measure fewer arguments")
    parser.add_argument("--here", action="store_true", help="only the set in force, as JSON")
    options = parser.parse_args()
    if options.here:
        print(json.dumps({name: largest_error(name, options.share) for name in FUNCTIONS}))
        return
    table = Table(title="Largest error, in units in the last place of float32")
    table.add_column("function")
    table.add_column("arguments")
    columns = {isa: measure_on(isa, options.share) for isa in _core.available_isas()}
    for isa in columns:
        table.add_column(isa, justify="right")
    for name, function in FUNCTIONS.items():
        errors = (f"{column[name]:.3f}" for column in columns.values())
        table.add_row(name, function.domain, *errors)
    Console().print(table)


if __name__ == "__main__":
    main()
