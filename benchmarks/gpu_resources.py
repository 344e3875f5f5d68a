"""What the GPU kernels use of a card, found out without one.

The launches that `dynaserve.defenses` makes are recorded instead of run, compiled ahead of time
for each architecture, and read back: registers and local memory from the binary, global memory
accesses from the PTX. Local memory is where registers spill to; there should be none. "bytes
per logit" sets the vector accesses of one program against its tile, so 4 and 4 mean that float32
logits are read once and probabilities written once. Row keys and what chunks tell each other,
a few bytes for each row, are read one word at a time and not counted. "any label" is dynanoise
without preserve_top1.

    python -m benchmarks.gpu_resources [--json FILE] [--markdown]

Exits 1 when a kernel spills. Needs torch and triton (Linux), no GPU; takes about half a minute.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from unittest import mock

import torch
import triton
from rich.box import SIMPLE
from rich.console import Console, JustifyMethod
from rich.table import Table
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from dynaserve.defenses.dynanoise import triton_kernel as dynanoise
from dynaserve.defenses.rank_template import triton_kernel as rank_template

ARCHITECTURES = (80, 90, 100)
CASES = (
    (10, torch.float32),
    (1000, torch.float32),
    (1001, torch.float32),
    (1000, torch.float16),
    (8192, torch.float32),
    (8192, torch.bfloat16),
    (8192, torch.float64),
    (128256, torch.float32),
    (128256, torch.bfloat16),
    (128256, torch.float64),
)
"""Classes and dtype; 8192 is the longest row that one program holds, 1001 gives unaligned rows."""
_POINTERS = {
    torch.float16: "*fp16",
    torch.bfloat16: "*bf16",
    torch.float32: "*fp32",
    torch.float64: "*fp64",
    torch.int32: "*i32",
    torch.int64: "*i64",
}
_CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"


@dataclass(frozen=True)
class Launch:
    """One kernel launch as the host code asked for it."""

    defense: str
    classes: int
    dtype: str
    kernel: JITFunction[Any]
    arguments: dict[str, Any]
    warps: int

    @property
    def source(self) -> ASTSource:
        """The kernel with the specialization that Triton gives these arguments on a card."""
        signature, constants, aligned = {}, {}, {}
        for parameter in self.kernel.params:
            name, value = parameter.name, self.arguments[parameter.name]
            free = parameter.do_not_specialize
            if parameter.is_constexpr or (type(value) is int and value == 1 and not free):
                signature[name], constants[name] = "constexpr", value
            elif isinstance(value, torch.Tensor):
                signature[name] = _POINTERS[value.dtype]
            else:
                signature[name] = "fp32" if isinstance(value, float) else "i32"
            address = value.data_ptr() if isinstance(value, torch.Tensor) else value
            if signature[name] not in {"constexpr", "fp32"} and not free and address % 16 == 0:
                aligned[(parameter.num,)] = [["tt.divisibility", 16]]
        return ASTSource(self.kernel, signature, constants, aligned)

    @property
    def tile(self) -> int:
        """Elements that one program holds."""
        given = self.arguments
        return int(given.get("ROWS", 1) * (given.get("COLUMNS") or given["CHUNKS"]))


@dataclass(frozen=True)
class Resources:
    """One line of the table."""

    defense: str
    kernel: str
    classes: int
    dtype: str
    architecture: int
    tile: int
    """Elements that one program holds."""
    warps: int
    registers: int
    local_bytes: int
    shared_bytes: int
    loads: dict[str, int]
    """Global loads of one thread, by their form in PTX."""
    stores: dict[str, int]
    loaded_per_element: float
    """Bytes that the vector loads bring, per element of the tile."""
    stored_per_element: float


@contextmanager
def recorded(defense: str, classes: int, dtype: torch.dtype) -> Iterator[list[Launch]]:
    """Collect launches instead of running them."""
    launches: list[Launch] = []

    def record(kernel: JITFunction[Any], *args: Any, **kwargs: Any) -> None:
        del kwargs["grid"], kwargs["warmup"]
        warps = kwargs.pop("num_warps", 4)
        arguments = dict(zip(kernel.arg_names, args, strict=False)) | kwargs
        name = str(dtype).removeprefix("torch.")
        launches.append(Launch(defense, classes, name, kernel, arguments, warps))

    with mock.patch.object(JITFunction, "run", record):
        yield launches


def launches() -> list[Launch]:
    """Return what the table shows: each kernel, at row lengths that stand for the others."""
    found = []
    for classes, dtype in CASES:
        logits, keys = torch.empty(2, classes, dtype=dtype), torch.zeros(2, 4, dtype=torch.int32)
        with recorded("dynanoise", classes, dtype) as made:
            dynanoise.dynanoise(logits, keys, 0.3, 2.0, 10.0, preserve_top1=True)
        found += made
        if dtype == torch.float32:
            with recorded("any label", classes, dtype) as made:
                dynanoise.dynanoise(logits, keys, 0.3, 2.0, 10.0, preserve_top1=False)
            found += made
            with recorded("sensitivity", classes, dtype) as made:
                dynanoise.sensitivity(logits)
            found += made
        confidence, weights = torch.ones(classes), torch.zeros(3)
        with recorded("rank template", classes, dtype) as made:
            rank_template.rank_template(logits, confidence, weights, 0.0)
        found += made
    return sorted(found, key=lambda launch: launch.defense)


def resources(launch: Launch, architecture: int) -> Resources:
    """Compile a launch for an architecture and read what it uses."""
    compiled = triton.compile(
        launch.source,
        target=GPUTarget("cuda", architecture, 32),
        options={"num_warps": launch.warps},
    )
    loads = _accesses("ld", compiled.asm["ptx"])
    stores = _accesses("st", compiled.asm["ptx"])
    usage = _usage(compiled.asm["cubin"])
    threads_per_element = 32 * launch.warps / launch.tile
    return Resources(
        launch.defense, launch.kernel.__name__, launch.classes, launch.dtype, architecture,
        launch.tile, launch.warps,
        usage["REG"], usage["STACK"] + usage["LOCAL"], compiled.metadata.shared, loads, stores,
        threads_per_element * _vector_bytes(loads), threads_per_element * _vector_bytes(stores),
    )  # fmt: skip


def _accesses(kind: str, ptx: str) -> dict[str, int]:
    """Count e.g. ``ld.global.v4.b32``, whatever the cache hints between its parts."""
    found: dict[str, int] = {}
    for line in re.findall(rf"\b{kind}\.global[.\w]*", ptx):
        form = ".".join(re.findall(r"v\d|b\d+", line))
        found[form] = found.get(form, 0) + 1
    return found


def _bytes(form: str) -> int:
    vector, _, width = form.rpartition(".")
    return int(width[1:]) // 8 * int(vector[1:] or 1)


def _vector_bytes(accesses: dict[str, int]) -> int:
    return sum(count * _bytes(form) for form, count in accesses.items() if form.startswith("v"))


def _usage(cubin: bytes) -> dict[str, int]:
    with NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        text = subprocess.run(
            [_CUOBJDUMP, "-res-usage", file.name], check=True, capture_output=True, text=True
        ).stdout
    return {name: int(value) for name, value in re.findall(r"(\w+):(\d+)", text)}


HEADINGS = (
    "kernel",
    "classes",
    "dtype",
    "warps",
    f"registers, sm_{'/'.join(map(str, ARCHITECTURES))}",
    "spilled bytes",
    "shared bytes",
    "widest load, store, bytes",
    "bytes per logit read, written",
)


def cells(kernel: list[Resources]) -> list[str]:
    """Return one line of the table: a kernel on the architectures, side by side."""
    one = kernel[0]
    widest = (max(map(_bytes, forms), default=0) for forms in (one.loads, one.stores))
    return [
        f"{one.defense}: {one.kernel}", str(one.classes), one.dtype, str(one.warps),
        _slashed(row.registers for row in kernel),
        str(sum(row.local_bytes for row in kernel)),
        str(max(row.shared_bytes for row in kernel)),
        ", ".join(map(str, widest)),
        f"{one.loaded_per_element:g}, {one.stored_per_element:g}",
    ]  # fmt: skip


def table(rows: list[Resources]) -> Table:
    """Return the table for people."""
    title = f"GPU kernels, compiled ahead of time by Triton {triton.__version__}"
    result = Table(title=title, box=SIMPLE, pad_edge=False, collapse_padding=True)
    for heading in HEADINGS:
        justify: JustifyMethod = "left" if heading in {"kernel", "dtype"} else "right"
        result.add_column(heading, justify=justify, no_wrap=heading.startswith(("kernel", "reg")))
    for kernel in _by_kernel(rows):
        result.add_row(*cells(kernel))
    return result


def markdown(rows: list[Resources]) -> str:
    """Return the table for docs/gpu.md."""
    rule = ["---", "--:", "---", *["--:"] * 6]
    lines = [list(HEADINGS), rule, *map(cells, _by_kernel(rows))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _by_kernel(rows: list[Resources]) -> list[list[Resources]]:
    found: dict[tuple[str, str, int, str], list[Resources]] = {}
    for row in rows:
        found.setdefault((row.defense, row.kernel, row.classes, row.dtype), []).append(row)
    return list(found.values())


def _slashed(numbers: Iterable[int]) -> str:
    return "/".join(map(str, numbers))


def main() -> int:
    """Compile, then print."""
    parser = argparse.ArgumentParser(description="What the GPU kernels use, without a GPU.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the table here")
    parser.add_argument("--markdown", action="store_true", help="print it for docs/gpu.md")
    options = parser.parse_args()
    work = [(launch, sm) for launch in launches() for sm in ARCHITECTURES]
    with ThreadPoolExecutor() as pool:
        rows = list(pool.map(lambda item: resources(*item), work))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    if options.markdown:
        print(markdown(rows))
    else:
        Console(width=max(Console().width, 120)).print(table(rows))
    return int(any(row.local_bytes for row in rows))


if __name__ == "__main__":
    sys.exit(main())
