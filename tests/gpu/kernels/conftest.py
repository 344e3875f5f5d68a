from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch


@pytest.fixture
def device() -> str:
    return "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def row_keys(rng: np.random.Generator, device: str) -> Callable[[int], tuple[Any, torch.Tensor]]:
    """Row keys for n rows, as the reference takes them and as the kernel does."""

    def make(n: int) -> tuple[Any, torch.Tensor]:
        words = rng.integers(2**32, size=(n, 4), dtype=np.uint32)
        return words, torch.tensor(words.view(np.int32), device=device)

    return make
