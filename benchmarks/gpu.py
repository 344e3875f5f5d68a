"""The GPU kernels on a real card: first whether they are right, then how fast they are.

Every kernel is compared with the float64 reference, for all sizes and dtypes, before anything is
timed. Times are medians of CUDA events around one call, with a cold cache (`triton.testing`).
``dynanoise`` is the whole call, with the host's look at the flag for bad rows; "launched" leaves
that look out. Bandwidth counts one read and one write of each float32, as the copy does,
whatever a contender moves in truth.

    python -m benchmarks.gpu [--json FILE]

Exits 1 when a kernel is wrong and 5 without a CUDA device. Takes about two minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from benchmarks import formulas
from dynaserve.defenses.dynanoise.reference import dynanoise_reference, sensitivity_reference
from dynaserve.defenses.gpu import DeviceRows
from dynaserve.defenses.rank_template.reference import rank_template_reference

SIZES = ((1, 10), (64, 10), (64, 1000), (1024, 1000), (4096, 32000), (16, 128256))
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
NOISE = (formulas.BASE_VARIANCE, formulas.SENSITIVITY_SCALE, formulas.TEMPERATURE)
BOUND = 2e-6
COMPARED_ROWS = 4
_RANKS = (0.5, 0.2, 0.1)

Call = Callable[[], Any]


@dataclass(frozen=True)
class Timing:
    """Milliseconds per call at one size, by contender."""

    rows: int
    classes: int
    milliseconds: dict[str, float]

    def bandwidth(self, contender: str) -> float:
        """Return gigabytes per second, were each float32 read once and written once."""
        return 8e-6 * self.rows * self.classes / self.milliseconds[contender]


def kernels() -> tuple[Any, Any]:
    """Return the modules of the kernels; they need triton."""
    from dynaserve.defenses.dynanoise import triton_kernel as dynanoise  # noqa: PLC0415
    from dynaserve.defenses.rank_template import triton_kernel as rank_template  # noqa: PLC0415

    return dynanoise, rank_template


def template(classes: int, device: str) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Return a rank template that stands for calibrated ones."""
    confidence = torch.full((classes,), 0.9, device=device)
    return confidence, torch.tensor(_RANKS, device=device), 0.2 / (classes - 1 - len(_RANKS))


def worst_errors(
    rows: int, classes: int, dtype: torch.dtype, device: str = "cuda"
) -> dict[str, float]:
    """Return the largest difference from the reference of each kernel, over some of the rows."""
    dynanoise, rank_template = kernels()
    torch.manual_seed(0)
    logits = (5 * torch.randn(rows, classes, device=device)).to(dtype)
    words = np.random.default_rng(0).integers(2**32, size=(rows, 4), dtype=np.uint32)
    keys = torch.tensor(words.view(np.int32), device=device)
    confidence, weights, tail = template(classes, device)
    some = np.unique(np.linspace(0, rows - 1, COMPARED_ROWS).astype(int))
    logits[some[-1], classes // 2] = -torch.inf

    def exact(tensor: torch.Tensor) -> Any:
        return tensor.double().cpu().numpy()

    x = exact(logits[some])
    released = {
        "dynanoise": dynanoise.dynanoise(logits, keys, *NOISE),
        "dynanoise, label kept": dynanoise.dynanoise(logits, keys, *NOISE, True),
        "sensitivity": dynanoise.sensitivity(logits),
        "rank_template": rank_template.rank_template(logits, confidence, weights, tail),
    }
    expected = {
        "dynanoise": dynanoise_reference(x, words[some], *NOISE),
        "dynanoise, label kept": dynanoise_reference(x, words[some], *NOISE, True),
        "sensitivity": sensitivity_reference(x),
        "rank_template": rank_template_reference(x, exact(confidence), exact(weights), tail),
    }
    return {
        name: float(np.abs(exact(values[some]) - expected[name]).max())
        for name, values in released.items()
    }


def refuses_a_bad_row(classes: int, device: str = "cuda") -> bool:
    """Tell whether every kernel refuses a row without a softmax, and names it."""
    dynanoise, rank_template = kernels()
    keys = torch.zeros(3, 4, dtype=torch.int32, device=device)
    parameters = template(classes, device)
    faults = {
        torch.nan: f"row 1 holds NaN at class {classes - 1}",
        torch.inf: f"row 1 holds +inf at class {classes - 1}",
        -torch.inf: "row 1 is -inf in every class",
    }
    for value, message in faults.items():
        logits = torch.zeros(3, classes, device=device)
        logits[1, slice(None) if value == -torch.inf else -1] = value
        calls: list[Call] = [
            partial(dynanoise.dynanoise, logits, keys, *NOISE),
            partial(dynanoise.sensitivity, logits),
            partial(rank_template.rank_template, logits, *parameters),
        ]
        for call in calls:
            try:
                call()
            except ValueError as error:
                if message in str(error):
                    continue
            return False
    return True


def look_away(*_: Any) -> None:
    """Stand in for the look at the device that a call ends with."""


def contenders(rows: int, classes: int, device: str = "cuda") -> dict[str, Call]:
    """Return what is timed, each a call without arguments on the same float32 logits."""
    dynanoise, rank_template = kernels()
    logits = 5 * torch.randn(rows, classes, device=device)
    keys = torch.randint(2**31, (rows, 4), dtype=torch.int32, device=device)
    parameters = template(classes, device)
    out = torch.empty_like(logits)
    compiled = torch.compile(formulas.eager_torch, dynamic=False)

    def launched() -> None:
        with mock.patch.object(DeviceRows, "refuse", new=look_away):
            dynanoise.dynanoise(logits, keys, *NOISE)

    return {
        "copy": lambda: out.copy_(logits),
        "softmax": lambda: torch.softmax(logits, -1),
        "dynanoise": lambda: dynanoise.dynanoise(logits, keys, *NOISE),
        "launched": launched,
        "rank_template": lambda: rank_template.rank_template(logits, *parameters),
        "eager": lambda: formulas.eager_torch(logits),
        "torch.compile": lambda: compiled(logits),
    }


def median_milliseconds(call: Call) -> float:
    """Return the median time of a call on the card, its first ones (compilation) left out."""
    from triton.testing import do_bench  # noqa: PLC0415

    return float(do_bench(call, warmup=20, rep=100, return_mode="median"))


def measure(
    rows: int, classes: int, clock: Callable[[Call], float] = median_milliseconds, **options: str
) -> Timing:
    """Time every contender at one size."""
    calls = contenders(rows, classes, **options)
    return Timing(rows, classes, {name: clock(call) for name, call in calls.items()})


def table(timings: list[Timing], card: str) -> Table:
    """Return microseconds and bandwidth for people."""
    result = Table(
        title=f"{card}, float32: µs per call (GB/s)",
        caption="eager, torch.compile: the formula of benchmarks/formulas.py",
    )
    result.add_column("rows x\nclasses")
    for name in timings[0].milliseconds:
        result.add_column(name, justify="right", no_wrap=True)
    for timing in timings:
        cells = (
            f"{1000 * ms:.1f} ({timing.bandwidth(name):.0f})"
            for name, ms in timing.milliseconds.items()
        )
        result.add_row(f"{timing.rows} x {timing.classes}", *cells)
    return result


def check(console: Console) -> dict[str, float]:
    """Compare every kernel with the reference; print and return the worst error of each."""
    worst: dict[str, float] = {}
    for size in SIZES:
        for dtype in DTYPES:
            for name, error in worst_errors(*size, dtype).items():
                # of numpy, because NaN must not get lost: it is the worst error
                worst[name] = float(np.maximum(worst.get(name, 0.0), error))
    for name, error in worst.items():
        console.print(f"{name}: at most {error:.1e} from the float64 reference")
    return worst


def main() -> int:
    """Check, measure, print."""
    parser = argparse.ArgumentParser(description="Check and time the GPU kernels on a CUDA card.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results here")
    options = parser.parse_args()
    console = Console()
    if not torch.cuda.is_available():
        console.print("Nothing was checked: torch finds no CUDA device here.")
        return 5
    errors = check(console)
    refused = all(refuses_a_bad_row(classes) for _, classes in SIZES)
    if not refused or not all(error <= BOUND for error in errors.values()):
        console.print(f"Wrong: errors above {BOUND:g}, or a bad row that was not refused.")
        return 1
    card = torch.cuda.get_device_name()
    timings = [measure(*size) for size in SIZES]
    console.print(table(timings, card))
    if options.json:
        facts = {"card": card, "torch": torch.__version__, "cuda": torch.version.cuda}
        results = {**facts, "errors": errors, "timings": [asdict(timing) for timing in timings]}
        options.json.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
