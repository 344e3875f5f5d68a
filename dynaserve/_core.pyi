"""The compiled core: pure functions of numbers, no policy. Source: ``csrc/module.cpp``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def isa() -> str:
    """Instruction set in use: ``scalar``, ``avx2``, ``avx512`` or ``neon``."""

def available_isas() -> list[str]:
    """Instruction sets that this build has and this processor runs, narrowest first."""

def dynanoise(
    logits: NDArray[Any],
    row_keys: NDArray[np.uint32],
    base_variance: float,
    sensitivity_scale: float,
    temperature: float,
    preserve_top1: bool = False,
    *,
    threads: int = 1,
) -> NDArray[np.float32]:
    """Entropy-scaled gaussian noise on logits, then softmax (DynaNoise)."""

def sensitivity(logits: NDArray[Any], *, threads: int = 1) -> NDArray[np.float32]:
    """``R = clamp(1 - H / log k, 0, 1)`` per row."""

def rank_template(
    logits: NDArray[Any],
    confidence: NDArray[Any],
    rank_weights: NDArray[Any],
    tail_weight: float,
    *,
    threads: int = 1,
) -> NDArray[np.float32]:
    """Template probabilities from the order of the top classes alone."""

def philox4x32(counters: NDArray[np.uint32], keys: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Philox4x32-10 words for (n, 4) counters and (n, 2) keys."""

def elementary(name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """The kernels' own ``exp``, ``log``, ``sin`` and ``cos``, exposed so that tests measure them."""
