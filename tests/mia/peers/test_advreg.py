"""AdvReg: a smaller gap, paid for in what members reach."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from dynaserve.mia.peers.advreg import AdvReg


def objective(task: Any, alpha: float) -> AdvReg:
    p = task.population
    return AdvReg(p.held_out_inputs, p.held_out_labels, p.classes, alpha)


def test_the_gap_is_smaller_than_without(task: Any) -> None:
    in_, out = task.gap(task.plain)
    in_regularized, out_regularized = task.gap(
        replace(task.plain, objective=objective(task, alpha=3.0))
    )
    assert in_ == 1
    assert in_regularized - out_regularized < in_ - out - 0.02
    assert out_regularized > out - 0.1


def test_without_a_price_it_is_cross_entropy(task: Any) -> None:
    network = task.plain.network()
    inputs = torch.from_numpy(task.population.inputs[:20])
    labels = torch.from_numpy(task.population.labels[:20])
    loss = objective(task, alpha=0.0).begin(network)(network(inputs), labels, 0)
    expected = torch.nn.functional.cross_entropy(network(inputs), labels)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)


def test_the_attack_learns_to_tell_members_and_the_price_follows(task: Any) -> None:
    """A network that answers members alone with certainty is found out."""
    p = task.population
    labels = torch.from_numpy(p.labels[:20])

    class Certain(torch.nn.Module):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            return torch.zeros(len(inputs), 3)

    torch.manual_seed(0)
    loss = objective(task, alpha=4.0).begin(Certain())
    certain = 20.0 * torch.nn.functional.one_hot(labels, 3).float()
    prices = [loss(certain, labels, 0).item() for _ in range(200)]
    assert abs(prices[0]) < 0.5  # h knows nothing yet, and the cross-entropy is 0
    assert prices[-1] == pytest.approx(4.0 * 0.5, abs=0.2)
