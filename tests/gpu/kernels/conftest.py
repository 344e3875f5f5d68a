from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


@pytest.fixture(scope="session", autouse=True)
def modules_are_prepared_once() -> Iterator[None]:
    """Spare the interpreter what it does for each call of a device function, to no effect.

    It replaces the functions of `triton.language` as the function's module names them. For the
    names that a launch does not put back itself, once is enough; more is half of the time.
    """
    if not INTERPRETED:
        yield
        return
    from triton.runtime.interpreter import InterpretedFunction

    prepare_and_call, prepared = InterpretedFunction.__call__, set()

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.fn.__module__ in prepared:
            return self.rewrite()(*args, **kwargs)
        prepared.add(self.fn.__module__)
        return prepare_and_call(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InterpretedFunction, "__call__", call)
        yield


@pytest.fixture
def device() -> str:
    return "cpu" if INTERPRETED else "cuda"


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
