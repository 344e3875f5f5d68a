"""Who is timed, on the same logits and one thread each: the kernels, and what they replace.

A contender turns batches of logits into a function and its arguments before any clock starts,
and is timed over all of them: given one batch again and again, the processor learns by heart
which branches it takes, and ``rank_template`` looked three times faster at 64 x 1000 than it is
on logits that it has not seen. The suites are ``test_kernels.py``, ``scaling.py``, ``check.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks import formulas
from dynaserve import _core

Logits = NDArray[np.float32]
Call = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and its arguments."""

ELEMENTS, BATCHES = 2**20, 1024
"""A contender runs through about so many logits, in at most so many batches, before the first
comes again: too many to learn, and still in the last cache."""


@dataclass(frozen=True)
class Contender:
    """One way to make released probabilities out of logits (n, k), float32."""

    name: str
    call: Callable[[Logits], Call]
    sums_to_one: bool = True

    def calls(self, batches: list[Logits]) -> list[Call]:
        """Return the call for each batch."""
        return [self.call(logits) for logits in batches]


def run(calls: list[Call]) -> Any:
    """Do what is timed; return the last answer."""
    answer = None
    for function, arguments in calls:
        answer = function(*arguments)
    return answer


def random_batches(rows: int, classes: int) -> list[Logits]:
    """Return the logits (rows, classes) that every contender gets, the same in every process."""
    rng = np.random.default_rng(0)
    count = min(BATCHES, max(1, ELEMENTS // (rows * classes)))
    size = (rows, classes)
    return [5 * rng.standard_normal(size, dtype=np.float32) for _ in range(count)]


def _dynanoise(logits: Logits) -> Call:
    row_keys = np.random.default_rng(1).integers(2**32, size=(len(logits), 4), dtype=np.uint32)
    noise = (formulas.BASE_VARIANCE, formulas.SENSITIVITY_SCALE, formulas.TEMPERATURE)
    return _core.dynanoise, (logits, row_keys, *noise)


def _rank_template(logits: Logits) -> Call:
    k = logits.shape[1]
    rank_weights = np.array([0.5, 0.2, 0.1])
    tail_weight = (1 - 0.8) / (k - 1 - len(rank_weights))
    return _core.rank_template, (logits, np.full(k, 0.9), rank_weights, tail_weight)


def _softmax(logits: Logits) -> Call:
    return torch.softmax, (torch.from_numpy(logits), -1)


def _eager_torch(logits: Logits) -> Call:
    return formulas.eager_torch, (torch.from_numpy(logits),)


def _torch_compile(logits: Logits) -> Call:
    return _compiled(), (torch.from_numpy(logits),)


@cache
def _compiled() -> Callable[..., Any]:
    # Inductor's own normals are scalar on a CPU: three to eight times slower than eager torch.
    # Its precompiled headers would lie outside this folder.
    options: dict[str, str | int | bool | Callable[..., Any]] = {
        "fallback_random": True,
        "cpp_cache_precompile_headers": False,
    }
    return torch.compile(formulas.eager_torch, dynamic=False, options=options)


def _plain_numpy(logits: Logits) -> Call:
    return formulas.plain_numpy, (logits, np.random.default_rng(2))


def _art(postprocessor: str, logits: Logits) -> Call:
    # It takes probabilities: the softmax that makes them is not in its time.
    probabilities = torch.softmax(torch.from_numpy(logits), -1).numpy()
    return getattr(import_module("art.defences.postprocessor"), postprocessor)(), (probabilities,)


KERNELS = (
    Contender("dynanoise", _dynanoise),
    Contender("rank_template", _rank_template),
    Contender("softmax", _softmax),
)

FORMULA = (
    Contender("eager_torch", _eager_torch),
    Contender("torch_compile", _torch_compile),
    Contender("plain_numpy", _plain_numpy),
)

ART = tuple(
    Contender(f"art_{name}", partial(_art, name), sums_to_one=False)
    for name in ("HighConfidence", "Rounded", "GaussianNoise", "ReverseSigmoid")
)
"""Post-processors of IBM's adversarial-robustness-toolbox, where it is installed."""


def present() -> tuple[Contender, ...]:
    """Return every contender whose library is here."""
    return (*KERNELS, *FORMULA, *(ART if find_spec("art") else ()))
