"""The formula that the kernel computes, as an engineer would write it without a kernel.

Only for timing: the noise comes from each library's own generator, so the values differ from
the kernel's, and the float64 oracle is ``dynaserve.defenses.dynanoise.reference``.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

BASE_VARIANCE, SENSITIVITY_SCALE, TEMPERATURE = 0.3, 2.0, 10.0


def eager_torch(logits: torch.Tensor) -> torch.Tensor:
    """DynaNoise of (n, k) float32 logits in eager PyTorch."""
    log_p = torch.log_softmax(logits, dim=-1)
    entropy = -(log_p.exp() * log_p).sum(dim=-1, keepdim=True)
    sensitivity = (1 - entropy / math.log(logits.shape[-1])).clamp(0, 1)
    sigma = torch.sqrt(BASE_VARIANCE * (1 + SENSITIVITY_SCALE * sensitivity))
    return torch.softmax((logits + sigma * torch.randn_like(logits)) / TEMPERATURE, dim=-1)


def plain_numpy(logits: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """DynaNoise of (n, k) float32 logits in NumPy."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    e = np.exp(shifted)
    z = e.sum(axis=-1, keepdims=True)
    entropy = np.log(z) - (e * shifted).sum(axis=-1, keepdims=True) / z
    sensitivity = np.clip(1 - entropy / math.log(logits.shape[-1]), 0, 1)
    sigma = np.sqrt(BASE_VARIANCE * (1 + SENSITIVITY_SCALE * sensitivity))
    noise = rng.standard_normal(logits.shape, dtype=np.float32)
    noisy = (shifted + sigma * noise) / np.float32(TEMPERATURE)
    p: NDArray[np.float32] = np.exp(noisy - noisy.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    return p
