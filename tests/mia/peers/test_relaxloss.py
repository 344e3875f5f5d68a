"""RelaxLoss: the three branches of its algorithm 1, and the level it holds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from dynaserve.mia.peers.relaxloss import RelaxLoss

LOGITS = torch.log(torch.tensor([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2]], dtype=torch.float64))
LABELS = torch.tensor([0, 1])  # the first is right, the second wrong
LOSSES = (-math.log(0.7), -math.log(0.3))
MEAN = sum(LOSSES) / 2


def loss(objective: RelaxLoss, epoch: int) -> float:
    return float(objective.begin(torch.nn.Identity())(LOGITS, LABELS, epoch))


@pytest.mark.parametrize("alpha", [0.1, 2.0])
def test_even_epochs_minimize_the_distance_from_the_level(alpha: float) -> None:
    assert loss(RelaxLoss(alpha), epoch=4) == pytest.approx(abs(MEAN - alpha))


def test_odd_epochs_above_the_level_descend() -> None:
    assert loss(RelaxLoss(0.1), epoch=3) == pytest.approx(MEAN)


@pytest.mark.parametrize(("upper", "top"), [(1.0, 0.3), (0.25, 0.25)])
def test_odd_epochs_below_the_level_flatten_the_wrong_and_ascend(upper: float, top: float) -> None:
    rest = (1 - top) / 2
    flattened = -(rest * math.log(0.5) + top * math.log(0.3) + rest * math.log(0.2))
    expected = (0 - LOSSES[0] + flattened - LOSSES[1]) / 2
    assert loss(RelaxLoss(2.0, upper), epoch=3) == pytest.approx(expected)


def test_soft_labels_are_constants_of_the_step() -> None:
    logits = LOGITS.clone().requires_grad_()
    RelaxLoss(2.0).begin(torch.nn.Identity())(logits, LABELS, 3).backward()
    p, y = LOGITS.exp().numpy(), np.eye(3)[LABELS]
    soft = np.array([[0, 0, 0], [0.35, 0.3, 0.35]])
    wrong = np.array([[0], [1]])
    expected = (wrong * (p - soft) - (p - y)) / 2
    np.testing.assert_allclose(logits.grad, expected, atol=1e-12)


def test_the_loss_of_members_hovers_at_the_level(task: Any) -> None:
    assert task.member_loss(task.plain) < 0.02
    relaxed = replace(task.plain, objective=RelaxLoss(alpha=0.4))
    assert task.member_loss(relaxed) == pytest.approx(0.4, abs=0.15)
