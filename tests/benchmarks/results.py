"""Made-up results, as the suites write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import scaling, service
from benchmarks.clients import Block
from benchmarks.routes import ROUTES

MACHINE = {
    "isa": "avx512",
    "cores": 2,
    "system": "Linux",
    "machine": "x86_64",
    "python_version": "3.11.7",
    "cpu": {"brand_raw": "Some CPU", "family": 1, "model": 2},
}


def timed(seconds: dict[str, list[float]]) -> dict[str, Any]:
    """Return kernel results: contender -> median seconds in each sweep, at 1 x 10."""
    return {
        "machine_info": MACHINE,
        "benchmarks": [
            {
                "extra_info": {"size": [1, 10], "sweep": sweep, "contender": contender},
                "stats": {"median": median},
            }
            for contender, medians in seconds.items()
            for sweep, median in enumerate(medians)
        ],
    }


FORMULA = {
    "dynanoise": [2.0, 2.0, 9.0],
    "rank_template": [1.0, 1.0, 1.0],
    "softmax": [4.0, 4.0, 4.0],
    "eager_torch": [20.0, 20.0, 20.0],
    "torch_compile": [10.0, 10.0, 10.0],
    "plain_numpy": [6.0, 6.0, 6.0],
}


def scaled() -> dict[str, Any]:
    return {
        "machine": MACHINE,
        "sweeps": [
            {
                "title": sweep.title,
                "axis": sweep.axis,
                "sizes": sweep.sizes,
                "seconds": {
                    name: [1e-6 * (i + 1) for i in range(len(sweep.sizes))]
                    for name in scaling.STYLES
                },
            }
            for sweep in scaling.SMOKE_SWEEPS
        ],
        "threaded": {"size": [16, 128256], "speedup": {"dynanoise": 1.84, "rank_template": 1.5}},
    }


def rounds(milliseconds: dict[str, float]) -> service.Rounds:
    """Return three rounds of two blocks of four requests, each as long as named."""
    return {
        name: [[Block(np.full(4, each / 1e3), 4 * each / 1e3)] * 2] * 3
        for name, each in milliseconds.items()
    }


def served() -> dict[str, Any]:
    taken = {"undefended": 1.0, "dynanoise": 1.01, "rank-template": 0.9, "control": 1.0}
    size = {"rows": 1, "classes": 10, "clients": 1}
    cases = [
        {**size, "route": route, "servers": service.summarize(rounds(taken))} for route in ROUTES
    ]
    return {"machine": MACHINE, "cases": cases}
