"""Times the kernels and what they replace on the same logits, one thread each.

Run by ``report.py``, which makes ratios of the medians. A slow spell of the machine must not hit
one contender alone: all of them run at one size before the next size starts, the whole is swept
over several times, and every second sweep takes them in reverse. What is timed is one pass over
all batches of a size, see ``contenders.py``.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.contenders import Contender, present, random_batches, run

SIZES = [(1, 10), (64, 10), (1, 1000), (64, 1000), (1024, 100), (16, 128256)]
SWEEPS = 5

CASES = [
    pytest.param(sweep, size, contender, id=f"sweep{sweep}-{size[0]}x{size[1]}-{contender.name}")
    for sweep in range(SWEEPS)
    for size in SIZES
    for contender in present()[:: -1 if sweep % 2 else 1]
]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch, of itself
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning:art")  # where p is 1
@pytest.mark.parametrize(("sweep", "size", "contender"), CASES)
def test_kernel(
    benchmark: BenchmarkFixture, sweep: int, size: tuple[int, int], contender: Contender
) -> None:
    calls = contender.calls(random_batches(*size))
    run(calls[:1])  # torch.compile compiles
    benchmark.extra_info.update(
        sweep=sweep, size=list(size), contender=contender.name, batches=len(calls)
    )

    probabilities = np.asarray(benchmark(run, calls))

    assert probabilities.dtype == np.float32
    assert probabilities.shape == size
    if contender.sums_to_one:
        np.testing.assert_allclose(probabilities.sum(axis=-1), 1, atol=1e-4)
