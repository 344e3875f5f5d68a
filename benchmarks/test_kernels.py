"""Times the kernels and what they replace on the same logits, one thread each.

Run by ``report.py``, which makes ratios of the medians. A slow spell of the machine must not hit
one contender alone: all of them run at one size before the next size starts, the whole is swept
over several times, and every second sweep takes them in reverse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import peers
from dynaserve import _core

SIZES = [(1, 10), (64, 10), (1, 1000), (64, 1000), (1024, 100), (16, 128256)]
SWEEPS = 5

Call = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and its arguments, all made before the clock starts."""


def dynanoise(logits: NDArray[np.float32], rng: np.random.Generator) -> Call:
    row_keys = rng.integers(2**32, size=(len(logits), 4), dtype=np.uint32)
    noise = (peers.BASE_VARIANCE, peers.SENSITIVITY_SCALE, peers.TEMPERATURE)
    return _core.dynanoise, (logits, row_keys, *noise)


def rank_template(logits: NDArray[np.float32], _: np.random.Generator) -> Call:
    k = logits.shape[1]
    rank_weights = np.array([0.5, 0.2, 0.1])
    tail_weight = (1 - 0.8) / (k - 1 - len(rank_weights))
    confidence = np.full(k, 0.9)
    return _core.rank_template, (logits, confidence, rank_weights, tail_weight)


def softmax(logits: NDArray[np.float32], _: np.random.Generator) -> Call:
    return torch.softmax, (torch.from_numpy(logits), -1)


def eager_torch(logits: NDArray[np.float32], _: np.random.Generator) -> Call:
    return peers.eager_torch, (torch.from_numpy(logits),)


def plain_numpy(logits: NDArray[np.float32], rng: np.random.Generator) -> Call:
    return peers.plain_numpy, (logits, rng)


CONTENDERS = [dynanoise, softmax, rank_template, eager_torch, plain_numpy]

CASES = [
    pytest.param(
        sweep, size, contender, id=f"sweep{sweep}-{size[0]}x{size[1]}-{contender.__name__}"
    )
    for sweep in range(SWEEPS)
    for size in SIZES
    for contender in CONTENDERS[:: -1 if sweep % 2 else 1]
]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.mark.parametrize(("sweep", "size", "contender"), CASES)
def test_kernel(
    benchmark: BenchmarkFixture,
    sweep: int,
    size: tuple[int, int],
    contender: Callable[[NDArray[np.float32], np.random.Generator], Call],
) -> None:
    rng = np.random.default_rng(0)
    logits = 5 * rng.standard_normal(size, dtype=np.float32)
    function, arguments = contender(logits, rng)
    benchmark.extra_info.update(
        sweep=sweep, size=list(size), contender=contender.__name__, isa=_core.isa()
    )

    probabilities = np.asarray(benchmark(function, *arguments))

    assert probabilities.dtype == np.float32
    assert probabilities.shape == size
    np.testing.assert_allclose(probabilities.sum(axis=-1), 1, atol=1e-4)
