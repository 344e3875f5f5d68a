"""The error table in the head of csrc/simd/math.h, held to by every build."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

# The head of csrc/simd/math.h, rounded up.
MAX_ULP = {"exp": 1.2, "log": 2.1, "sin": 2.4, "cos": 2.4}


def _ulp(value: NDArray[np.float32], truth: NDArray[np.float64]) -> float:
    exponent = np.floor(np.log2(np.maximum(np.abs(truth), 2.0**-126)))
    return float(np.max(np.abs(value - truth) / 2.0 ** (exponent - 23)))


def test_exp_over_its_range(core: ModuleType) -> None:
    largest = int(np.float32(87.3).view(np.uint32))
    x = -np.arange(0, largest, 61, dtype=np.uint32).view(np.float32)
    assert _ulp(core.elementary("exp", x), np.exp(x.astype(np.float64))) <= MAX_ULP["exp"]


def test_exp_is_exact_at_its_ends_and_monotone_below_float32(core: ModuleType) -> None:
    x = np.array([0.0, -0.0, -np.inf, -1e30, -160, np.nan], np.float32)
    y = core.elementary("exp", x)
    np.testing.assert_array_equal(y, np.array([1, 1, 0, 0, 0, np.nan], np.float32))
    tail = core.elementary("exp", np.linspace(-87.3, -110, 1000, dtype=np.float32))
    assert np.all(tail <= 2.0**-125)
    assert np.all(tail >= 0)


def test_log_over_the_whole_grid_of_uniforms(core: ModuleType) -> None:
    n = np.arange(1, 2**24)  # the last point, 2^24, is log 1 = 0, where an ulp says nothing
    x = (n / 2**24).astype(np.float32)
    assert _ulp(core.elementary("log", x), np.log(n / 2**24)) <= MAX_ULP["log"]
    assert core.elementary("log", np.ones(1, np.float32))[0] == 0


def test_log_of_sums(core: ModuleType) -> None:
    x = np.linspace(1.001, 300_000, 3_000_001, dtype=np.float32)
    assert _ulp(core.elementary("log", x), np.log(x.astype(np.float64))) <= MAX_ULP["log"]


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sin_and_cos_of_a_turn(core: ModuleType, name: str) -> None:
    edges = (np.arange(17, dtype=np.int64)[:, None] * 2**28 + np.arange(-500, 500)) % 2**32
    words = np.concatenate([np.arange(0, 2**32, 1021, dtype=np.int64), edges.ravel()])
    # float64 truth, reduced exactly to an eighth of a turn first
    quarter = (words + 2**29) >> 30
    angle = (words - (quarter << 30)) * (math.pi / 2 / 2**30)
    table = [np.sin, np.cos, lambda a: -np.sin(a), lambda a: -np.cos(a)]
    shift = 0 if name == "sin" else 1
    truth = np.choose((quarter + shift) % 4, [f(angle) for f in table])
    value = core.elementary(name, words.astype(np.uint32))
    nonzero = truth != 0
    assert _ulp(value[nonzero], truth[nonzero]) <= MAX_ULP[name]
    assert np.all(value[~nonzero] == 0)


def test_tails_shorter_than_a_vector_give_the_same(core: ModuleType) -> None:
    x = np.linspace(-5, 0, 37, dtype=np.float32)
    whole = core.elementary("exp", x)
    for n in range(38):
        np.testing.assert_array_equal(core.elementary("exp", x[:n]), whole[:n])


@pytest.mark.parametrize(
    ("name", "x", "message"),
    [
        ("tan", np.zeros(1, np.float32), "'tan' is not one of"),
        ("exp", np.zeros(1), "float32"),
        ("sin", np.zeros(1, np.float32), "uint32"),
        ("exp", np.zeros((1, 1), np.float32), "one row"),
    ],
)
def test_bad_arguments(core: ModuleType, name: str, x: NDArray[np.generic], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        core.elementary(name, x)
