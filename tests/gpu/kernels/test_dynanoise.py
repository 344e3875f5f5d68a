from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from dynaserve import _core
from dynaserve.defenses.dynanoise import triton_kernel
from dynaserve.defenses.dynanoise.reference import (
    dynanoise_reference,
    philox4x32,
    sensitivity_reference,
)
from dynaserve.defenses.dynanoise.triton_kernel import dynanoise, sensitivity
from dynaserve.defenses.gpu import SINGLE_PASS

SPLIT = SINGLE_PASS + 9
CLASSES = [2, 3, 10, 16, 17, 31, 33, 100, 1000, 4096, SINGLE_PASS, SPLIT]
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
NOISE = (0.3, 2.0, 1.5)

Keys = Callable[[int], tuple[Any, torch.Tensor]]


def exact(tensor: torch.Tensor) -> Any:
    return tensor.double().cpu().numpy()


def make(rng: np.random.Generator, *shape: int, scale: float = 4.0) -> torch.Tensor:
    return torch.from_numpy(scale * rng.normal(size=shape))


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_it_agrees_with_the_reference(
    classes: int, dtype: torch.dtype, rng: np.random.Generator, row_keys: Keys, device: str
) -> None:
    logits = make(rng, 5, classes).to(device, dtype)
    logits[2, 1::3] = -torch.inf
    logits[3] = -torch.inf
    logits[3, -1] = 7
    words, keys = row_keys(5)
    for preserve_top1 in (False, True):
        released = dynanoise(logits, keys, *NOISE, preserve_top1)
        expected = dynanoise_reference(exact(logits), words, *NOISE, preserve_top1)
        assert released.dtype == torch.float32
        assert released.device == logits.device
        assert np.abs(exact(released) - expected).max() < 2e-6
        assert np.abs(exact(released).sum(axis=1) - 1).max() < 1e-6
        assert (released[logits == -torch.inf] == 0).all()


def test_rows_of_a_quarter_million_classes_agree_too(
    rng: np.random.Generator, row_keys: Keys, device: str
) -> None:
    logits = make(rng, 1, 2**18).to(device, torch.float32)
    words, keys = row_keys(1)
    released = dynanoise(logits, keys, *NOISE, preserve_top1=True)
    expected = dynanoise_reference(exact(logits), words, *NOISE, preserve_top1=True)
    assert np.abs(exact(released) - expected).max() < 2e-6
    assert abs(float(exact(released).sum()) - 1) < 1e-6
    assert np.abs(exact(sensitivity(logits)) - sensitivity_reference(exact(logits))).max() < 2e-6


@pytest.mark.parametrize("classes", [2, 10, 33, 1000, SPLIT])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_label_stays_and_leads_strictly(
    classes: int, dtype: torch.dtype, rng: np.random.Generator, row_keys: Keys, device: str
) -> None:
    logits = make(rng, 6, classes, scale=0.1).to(device, dtype)
    logits[1, classes // 2 :] = logits[1].max() + 1  # a tie, over a chunk's end where split
    label = logits.cpu().double().argmax(dim=1)
    label[1] = classes // 2
    released = dynanoise(logits, row_keys(6)[1], 9.0, 2.0, 1.0, preserve_top1=True).cpu()
    top = released.topk(2, dim=1)
    assert top.indices[:, 0].tolist() == label.tolist()
    assert (top.values[:, 0] > top.values[:, 1]).all()


@pytest.mark.parametrize("classes", [10, SPLIT])
@pytest.mark.parametrize("top", [(1e4, 1e4 + 1e-9), (0.0, 1e-60)])
def test_a_difference_that_float32_cannot_hold_decides_the_label(
    classes: int, top: tuple[float, float], row_keys: Keys, device: str
) -> None:
    logits = torch.zeros(1, classes, dtype=torch.float64, device=device)
    logits[0, 3], logits[0, 7] = top
    released = dynanoise(logits, row_keys(1)[1], 1.0, 2.0, 1.0, preserve_top1=True)
    assert int(released.argmax()) == 7


@pytest.mark.parametrize("classes", [10, 1000, SPLIT])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_large_logits_keep_their_noise(
    classes: int, dtype: torch.dtype, rng: np.random.Generator, row_keys: Keys, device: str
) -> None:
    logits = (1e4 + make(rng, 3, classes)).to(device, dtype)
    logits[1] -= 2e4
    words, keys = row_keys(3)
    expected = dynanoise_reference(exact(logits), words, *NOISE)
    assert np.abs(exact(dynanoise(logits, keys, *NOISE)) - expected).max() < 2e-6


@pytest.mark.parametrize("classes", [10, SPLIT])
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T.contiguous().T,
        lambda x: x.repeat_interleave(3, dim=1)[:, ::3],
        lambda x: torch.cat([x, x], dim=1)[:, : x.shape[1]],
        lambda x: x.requires_grad_(),
    ],
    ids=["class by class", "every third column", "wide rows", "with gradient"],
)
def test_strides_change_no_byte(
    classes: int,
    view: Callable[[torch.Tensor], torch.Tensor],
    rng: np.random.Generator,
    row_keys: Keys,
    device: str,
) -> None:
    logits = make(rng, 3, classes).to(device, torch.float32)
    keys = row_keys(3)[1]
    expected = dynanoise(logits, keys, *NOISE, True)
    released = dynanoise(view(logits.clone()), keys, *NOISE, True)
    assert not released.requires_grad
    assert torch.equal(released, expected)


def test_one_row_repeated_by_stride_zero_gets_the_noise_of_each_key(
    rng: np.random.Generator, row_keys: Keys, device: str
) -> None:
    logits = make(rng, 12).to(device, torch.float32).expand(4, 12)
    words, keys = row_keys(4)
    expected = dynanoise_reference(exact(logits), words, *NOISE)
    assert np.abs(exact(dynanoise(logits, keys, *NOISE)) - expected).max() < 2e-6


def test_rows_further_apart_than_an_int32_can_say(row_keys: Keys, device: str) -> None:
    stride = 2**31 + 16  # two rows of a 4 GiB tensor, of which nothing else is touched
    far = torch.empty(stride + 16, dtype=torch.float16, device=device)
    far = far.as_strided((2, 16), (stride, 1))
    far.copy_(torch.arange(32, device=device).reshape(2, 16))
    keys = row_keys(2)[1]
    assert torch.equal(dynanoise(far, keys, *NOISE), dynanoise(far.contiguous(), keys, *NOISE))


@pytest.mark.parametrize("shape", [(12,), (2, 3, 12), (0, 12), (2, 0, 3, 12)])
def test_shapes_stay(
    shape: tuple[int, ...], rng: np.random.Generator, row_keys: Keys, device: str
) -> None:
    logits = make(rng, *shape).to(device, torch.float32).swapaxes(0, len(shape) - 2)
    n = logits.numel() // 12
    words, keys = row_keys(n)
    released = dynanoise(logits, keys, *NOISE)
    assert released.shape == logits.shape
    assert sensitivity(logits).shape == logits.shape[:-1]
    expected = dynanoise_reference(exact(logits), words, *NOISE)
    assert np.allclose(exact(released), expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("classes", [2, 10, 1000, SPLIT])
def test_a_row_depends_on_no_other(
    classes: int, rng: np.random.Generator, row_keys: Keys, device: str
) -> None:
    logits = make(rng, 5, classes).to(device, torch.float32)
    keys = row_keys(5)[1]
    together = dynanoise(logits, keys, *NOISE, True)
    assert torch.equal(dynanoise(logits[3], keys[3:4], *NOISE, True), together[3])
    backwards = dynanoise(logits.flip(0), keys.flip(0), *NOISE, True)
    assert torch.equal(backwards.flip(0), together)


def test_keys_may_be_uint32_and_strided(
    rng: np.random.Generator, row_keys: Keys, device: str
) -> None:
    logits = make(rng, 3, 10).to(device, torch.float32)
    words, keys = row_keys(3)
    expected = dynanoise(logits, keys, *NOISE)
    assert torch.equal(dynanoise(logits, torch.tensor(words, device=device), *NOISE), expected)
    assert torch.equal(dynanoise(logits, keys.T.contiguous().T, *NOISE), expected)


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_the_sensitivity_agrees_with_the_reference(
    classes: int, dtype: torch.dtype, rng: np.random.Generator, device: str
) -> None:
    logits = make(rng, 4, classes).to(device, dtype)
    logits[1] = 0
    logits[2, 0] = 300
    logits[3, 1:] = -torch.inf
    released = sensitivity(logits)
    assert released.dtype == torch.float32
    assert np.abs(exact(released) - sensitivity_reference(exact(logits))).max() < 2e-6
    assert ((released >= 0) & (released <= 1)).all()


@triton.jit
def store_words(keys, out, n, ROWS: tl.constexpr, BLOCKS: tl.constexpr):  # noqa: N803
    row = tl.arange(0, ROWS)[:, None]
    block = tl.zeros((ROWS, BLOCKS), tl.uint32) + tl.arange(0, BLOCKS).to(tl.uint32)[None, :]
    words = triton_kernel._words(keys, row, row < n, block)
    at = out + 4 * (row * BLOCKS + tl.arange(0, BLOCKS)[None, :])
    for i in tl.static_range(4):
        tl.store(at + i, words[i].to(tl.int32, bitcast=True), mask=row < n)


def test_the_random_words_are_the_references(row_keys: Keys, device: str) -> None:
    words, keys = row_keys(4)
    made = torch.empty(4, 8, 4, dtype=torch.int32, device=device)
    store_words[(1,)](keys, made, 4, ROWS=4, BLOCKS=8)
    counters = np.zeros((4, 8, 4), np.uint32)
    counters[:, :, 0] = np.arange(8)
    counters[:, :, 2:] = words[:, None, 2:]
    expected = philox4x32(counters.reshape(-1, 4), words[:, :2].repeat(8, axis=0))
    assert (made.cpu().numpy().view(np.uint32).reshape(-1, 4) == expected).all()


@pytest.mark.parametrize("classes", [2, 1000, SPLIT])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
@pytest.mark.parametrize("bad", ["nan", "inf", "-inf"])
def test_the_first_bad_row_is_refused_in_the_cores_words(
    classes: int,
    dtype: torch.dtype,
    bad: str,
    rng: np.random.Generator,
    row_keys: Keys,
    device: str,
) -> None:
    logits = make(rng, 2, 3, classes).to(device, dtype)
    logits[1, 0, slice(None) if bad == "-inf" else -1] = float(bad)
    logits[1, 2, 0] = torch.nan
    words, keys = row_keys(6)
    with pytest.raises(ValueError, match="row 1, 0 ") as cores:
        _core.dynanoise(logits.cpu().numpy(), words, *NOISE)
    with pytest.raises(ValueError, match="row 1, 0 ") as refusal:
        dynanoise(logits, keys, *NOISE)
    assert str(refusal.value) == str(cores.value)
    with pytest.raises(ValueError, match="row 1, 0 ") as refusal:
        sensitivity(logits)
    assert str(refusal.value) == str(cores.value)


def test_one_bad_row_alone_is_called_the_row(row_keys: Keys, device: str) -> None:
    with pytest.raises(ValueError, match=r"^logits: the row holds NaN at class 1; "):
        dynanoise(torch.tensor([0.0, torch.nan], device=device), row_keys(1)[1], *NOISE)


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        (torch.zeros(3, 1), r"have 1 class\(es\)"),
        (torch.zeros(3, 0), r"have 0 class\(es\)"),
        (torch.tensor(1.0), "need a class axis"),
        (torch.zeros(3, 4, dtype=torch.int64), "dtype torch.int64 is not float16"),
        (torch.zeros(3, 4, dtype=torch.float8_e5m2), "dtype torch.float8_e5m2 is not float16"),
    ],
)
def test_what_are_no_logits_is_refused(
    logits: torch.Tensor, message: str, row_keys: Keys, device: str
) -> None:
    with pytest.raises(ValueError, match=message):
        dynanoise(logits.to(device), row_keys(3)[1], *NOISE)
    with pytest.raises(ValueError, match=message):
        sensitivity(logits.to(device))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (torch.zeros(2, 4, dtype=torch.int32), r"needs int32 or uint32 \(3, 4\)"),
        (torch.zeros(3, 4, dtype=torch.int64), r"got torch.int64 \(3, 4\)"),
        (torch.zeros(3, 4, dtype=torch.int32, device="meta"), "are on meta"),
    ],
)
def test_wrong_keys_are_refused(keys: torch.Tensor, message: str, device: str) -> None:
    moved = keys if keys.is_meta else keys.to(device)
    with pytest.raises(ValueError, match=message):
        dynanoise(torch.zeros(3, 5, device=device), moved, *NOISE)
