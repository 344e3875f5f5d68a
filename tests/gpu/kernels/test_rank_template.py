from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from dynaserve import _core
from dynaserve.defenses.gpu import CHUNK, SINGLE_PASS
from dynaserve.defenses.rank_template.reference import rank_template_reference
from dynaserve.defenses.rank_template.triton_kernel import rank_template

SPLIT = SINGLE_PASS + 9
CLASSES = [2, 3, 10, 17, 100, 1000, SINGLE_PASS, SPLIT]
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def exact(tensor: torch.Tensor) -> Any:
    return tensor.double().cpu().numpy()


def template(
    rng: np.random.Generator, classes: int, ranks: int, device: str
) -> tuple[torch.Tensor, torch.Tensor, float]:
    confidence = torch.tensor(rng.uniform(0.6, 0.9, classes), dtype=torch.float32, device=device)
    weights = torch.tensor(0.4 / 2.0 ** np.arange(ranks), dtype=torch.float32, device=device)
    return confidence, weights, 0.1 / classes


def expected(logits: torch.Tensor, confidence: Any, weights: Any, tail: float) -> Any:
    return rank_template_reference(exact(logits), exact(confidence), exact(weights), tail)


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ranks", [0, 3])
def test_it_agrees_with_the_reference(
    classes: int, dtype: torch.dtype, ranks: int, rng: np.random.Generator, device: str
) -> None:
    logits = torch.from_numpy(rng.normal(size=(4, classes))).round(decimals=1).to(device, dtype)
    logits[1, ::2] = -torch.inf
    logits[2] = 0  # nothing but ties
    parameters = template(rng, classes, ranks, device)
    released = rank_template(logits, *parameters)
    assert released.dtype == torch.float32
    assert released.device == logits.device
    assert np.abs(exact(released) - expected(logits, *parameters)).max() < 2e-6
    assert (released[logits == -torch.inf] == 0).all()
    assert np.abs(exact(released).sum(axis=1) - 1).max() < 1e-6


def test_rows_of_a_quarter_million_classes_agree_too(rng: np.random.Generator, device: str) -> None:
    logits = torch.from_numpy(rng.normal(size=(1, 2**18))).to(device, torch.float32)
    parameters = template(rng, 2**18, 3, device)
    released = rank_template(logits, *parameters)
    assert np.abs(exact(released) - expected(logits, *parameters)).max() < 2e-6


@pytest.mark.parametrize("classes", [10, SPLIT])
@pytest.mark.parametrize("left", [1, 2])
def test_fewer_classes_than_ranks_may_be_left_by_a_mask(
    classes: int, left: int, rng: np.random.Generator, device: str
) -> None:
    logits = torch.full((2, classes), -torch.inf, device=device)
    logits[0, :left] = torch.arange(1.0, left + 1)  # class 0 comes last
    logits[1, -left:] = 1.0
    parameters = template(rng, classes, 5, device)
    released = rank_template(logits, *parameters)
    assert np.abs(exact(released) - expected(logits, *parameters)).max() < 2e-6


@pytest.mark.parametrize("classes", [4, SPLIT])
def test_every_rank_may_be_told_apart(classes: int, rng: np.random.Generator, device: str) -> None:
    logits = torch.from_numpy(rng.normal(size=(2, classes))).to(device, torch.float32)
    parameters = template(rng, classes, 20, device)
    released = rank_template(logits, *parameters)
    assert np.abs(exact(released) - expected(logits, *parameters)).max() < 2e-6


@pytest.mark.parametrize("classes", [10, SPLIT])
def test_float64_logits_are_ordered_as_float64(
    classes: int, rng: np.random.Generator, device: str
) -> None:
    logits = torch.zeros(1, classes, dtype=torch.float64, device=device)
    logits[0, [2, 5, 8]] = 1 + 1e-12 * torch.tensor([1.0, 3.0, 2.0], dtype=torch.float64)
    released = rank_template(logits, *template(rng, classes, 3, device))
    assert released.topk(3).indices.tolist() == [[5, 8, 2]]


@pytest.mark.parametrize("classes", [10, 100, SPLIT])
def test_rows_of_one_order_get_the_same_bytes(
    classes: int, rng: np.random.Generator, device: str
) -> None:
    top = torch.tensor([7, 0, 9, 3])
    logits = torch.from_numpy(rng.uniform(-9, 0, (6, classes))).to(device, torch.float32)
    logits[:, top.to(device)] = torch.tensor([8.0, 6.0, 3.0, 2.0], device=device)
    logits[3:] *= 0.01
    released = rank_template(logits, *template(rng, classes, 3, device))
    assert torch.equal(released, released[:1].expand_as(released))
    assert torch.equal(
        rank_template(logits[4], *template(np.random.default_rng(0), classes, 3, device)).topk(4)[
            1
        ],
        top.to(device),
    )


def test_ties_over_the_end_of_a_chunk_go_to_the_lower_index(device: str) -> None:
    logits = torch.zeros(1, SPLIT, device=device)
    logits[0, [CHUNK + 1, CHUNK - 1, 2 * CHUNK]] = 1
    confidence = torch.full((SPLIT,), 0.7, device=device)
    weights = torch.tensor([0.5, 0.25], device=device)
    released = rank_template(logits, confidence, weights, 0.25 / SPLIT)
    assert released.topk(3).indices.tolist() == [[CHUNK - 1, CHUNK + 1, 2 * CHUNK]]


@pytest.mark.parametrize("classes", [10, SPLIT])
def test_strides_change_no_byte(classes: int, rng: np.random.Generator, device: str) -> None:
    logits = torch.from_numpy(rng.normal(size=(2, 3, classes))).to(device, torch.float32)
    parameters = template(rng, classes, 3, device)
    released = rank_template(logits, *parameters)
    every_second = logits.repeat_interleave(2, dim=-1)[..., ::2]
    assert torch.equal(rank_template(every_second, *parameters), released)
    swapped = rank_template(logits.swapaxes(0, 1), *parameters)
    assert torch.equal(swapped.swapaxes(0, 1), released)
    assert rank_template(logits[:0], *parameters).shape == (0, 3, classes)


@pytest.mark.parametrize("classes", [2, 10, SPLIT])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
@pytest.mark.parametrize("bad", ["nan", "inf", "-inf"])
def test_the_first_bad_row_is_refused_in_the_cores_words(
    classes: int, dtype: torch.dtype, bad: str, rng: np.random.Generator, device: str
) -> None:
    logits = torch.from_numpy(rng.normal(size=(2, 3, classes))).to(device, dtype)
    logits[1, 0, slice(None) if bad == "-inf" else -1] = float(bad)
    logits[1, 2, 0] = torch.nan
    confidence, weights, tail = template(rng, classes, 3, device)
    with pytest.raises(ValueError, match="row 1, 0 ") as cores:
        _core.rank_template(logits.cpu().numpy(), exact(confidence), exact(weights), tail)
    with pytest.raises(ValueError, match="row 1, 0 ") as refusal:
        rank_template(logits, confidence, weights, tail)
    assert str(refusal.value) == str(cores.value)


@pytest.mark.parametrize(
    ("confidence", "weights", "message"),
    [
        (
            torch.ones(4),
            torch.ones(2),
            r"confidence: needs float32 \(5,\), got torch.float32 \(4,\)",
        ),
        (torch.ones(5, dtype=torch.float64), torch.ones(2), "got torch.float64"),
        (torch.ones(5), torch.ones(2, 1), r"rank_weights: needs float32 \(2,\)"),
        (torch.ones(5, device="meta"), torch.ones(2), "confidence: is on meta"),
    ],
)
def test_wrong_parameters_are_refused(
    confidence: torch.Tensor, weights: torch.Tensor, message: str, device: str
) -> None:
    moved = confidence if confidence.is_meta else confidence.to(device)
    with pytest.raises(ValueError, match=message):
        rank_template(torch.zeros(3, 5, device=device), moved, weights.to(device), 0.1)
