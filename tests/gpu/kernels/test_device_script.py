"""`benchmarks/gpu.py` as far as it goes without a card."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from rich.console import Console

from benchmarks import gpu
from dynaserve.defenses.gpu import SINGLE_PASS


@pytest.mark.parametrize(
    ("size", "dtype"),
    [
        *((size, dtype) for size in ((1, 10), (5, 1000)) for dtype in gpu.DTYPES),
        ((1, SINGLE_PASS + 9), torch.float32),
    ],
)
def test_right_kernels_are_found_right(
    size: tuple[int, int], dtype: torch.dtype, device: str
) -> None:
    errors = gpu.worst_errors(*size, dtype, device)
    assert errors.keys() == {
        "dynanoise",
        "dynanoise, label kept",
        "sensitivity",
        "rank_template",
    }
    assert all(error <= gpu.BOUND for error in errors.values())


def test_a_wrong_kernel_is_found_wrong(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dynanoise, _ = gpu.kernels()
    monkeypatch.setattr(dynanoise, "sensitivity", lambda x: torch.full(x.shape[:-1], 0.5))
    assert gpu.worst_errors(5, 10, torch.float32, device)["sensitivity"] > gpu.BOUND


def test_the_worst_error_is_kept_and_nan_is_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([1e-7, math.nan, 3e-7, 2e-7] * len(gpu.SIZES))
    monkeypatch.setattr(gpu, "worst_errors", lambda *_: {"dynanoise": next(answers)})
    assert math.isnan(gpu.check(Console(quiet=True))["dynanoise"])
    answers = iter([1e-7, 3e-7, 2e-7, 1e-7] * len(gpu.SIZES))
    assert gpu.check(Console(quiet=True)) == {"dynanoise": 3e-7}


def test_a_bad_row_is_refused(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu.refuses_a_bad_row(10, device)
    monkeypatch.setattr(gpu.DeviceRows, "refuse", lambda *_: None)
    assert not gpu.refuses_a_bad_row(10, device)


def test_every_contender_is_called_and_shown(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    answers = []

    def clock(call: Callable[[], Any]) -> float:
        answers.append(call())
        return 0.5

    timing = gpu.measure(4, 1000, clock, device=device)
    shapes = {answer.shape for answer in answers if answer is not None}
    assert shapes == {(4, 1000)}
    assert timing.bandwidth("copy") == pytest.approx(4 * 1000 * 8 / 0.5e-3 / 1e9)
    console = Console(width=200)
    with console.capture() as shown:
        console.print(gpu.table([timing], "a card"))
    text = shown.get()
    assert all(name in text for name in ("a card", "4 x 1000", "torch.compile", "500.0 (0)"))
