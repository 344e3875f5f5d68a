"""Where numbers were measured: every result file says it, and so does every table of them."""

from __future__ import annotations

import os
from typing import Any

from pytest_benchmark.plugin import pytest_benchmark_generate_machine_info

from dynaserve import _core

Facts = dict[str, Any]


def facts() -> Facts:
    """Return this machine as pytest-benchmark describes it, without its name."""
    found: Facts = pytest_benchmark_generate_machine_info()  # type: ignore[no-untyped-call]
    del found["node"]
    found["cpu"].pop("flags", None)
    return found | {"isa": _core.isa(), "cores": os.cpu_count()}


def processor(facts: Facts) -> str:
    """Return what tells two processors apart, virtual ones with a bare brand name too."""
    cpu = facts["cpu"]
    brand = cpu.get("brand_raw") or facts["machine"]
    numbers = [f"{name} {cpu[name]}" for name in ("family", "model") if name in cpu]
    return ", ".join([brand, *numbers])


def sentence(facts: Facts) -> str:
    """Return the machine in words."""
    cores = facts["cores"]
    count = f"{cores} core{'s' if cores != 1 else ''}"
    return (
        f"{processor(facts)}; {count}; {facts['isa']} kernels; "
        f"{facts['system']}, Python {facts['python_version']}"
    )
