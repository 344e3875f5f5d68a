"""AdvReg: training against an attack network that is trained along.

Source: Nasr, Shokri and Houmansadr, "Machine Learning with Membership Privacy using Adversarial
Regularization", CCS 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch.nn import functional

from dynaserve.mia.architectures import Perceptron
from dynaserve.mia.shadows.networks import StepLoss, as_tensor


@dataclass(frozen=True, eq=False)
class AdvReg:
    """Cross-entropy + alpha (mean h(p, y) - 1/2) with an attack network h that answers in (0, 1).

    Before each step of the model h takes one of its own: squared error, 1 for the batch of
    members and 0 for as many reference rows.

    Attributes
    ----------
    reference_inputs, reference_labels
        (m, ...) and (m,): rows that no model is trained on.
    classes
        k.
    alpha
        Price of what h finds.
    """

    reference_inputs: NDArray[Any]
    reference_labels: NDArray[Any]
    classes: int
    alpha: float = 3.0

    def begin(self, network: torch.nn.Module) -> StepLoss:
        """Return the loss of one run, which owns its attack network."""
        return _Game(self, network)


class _Game:
    """One model against one attack network."""

    def __init__(self, objective: AdvReg, network: torch.nn.Module) -> None:
        self._network = network
        self._alpha = objective.alpha
        self._classes = objective.classes
        self._inputs = as_tensor(objective.reference_inputs)
        self._labels = torch.as_tensor(objective.reference_labels)
        self._attack = Perceptron(2 * objective.classes, (128, 64), 1)()
        self._optimizer = torch.optim.Adam(self._attack.parameters(), 1e-3, fused=True)

    def __call__(
        self,
        logits: torch.Tensor,
        labels: torch.Tensor,
        epoch: int,  # noqa: ARG002
    ) -> torch.Tensor:
        self._improve_attack(logits.detach(), labels)
        found = self._membership(logits, labels).mean()
        return functional.cross_entropy(logits, labels) + self._alpha * (found - 0.5)

    def _improve_attack(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        chosen = torch.randint(len(self._inputs), (len(labels),))
        with torch.no_grad():
            reference = self._network(self._inputs[chosen])
        members = self._membership(logits, labels)
        others = self._membership(reference, self._labels[chosen])
        self._optimizer.zero_grad()
        ((members - 1).square().mean() + others.square().mean()).backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()

    def _membership(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return h(p, y), (b,)."""
        own = functional.one_hot(labels, self._classes)
        answer: torch.Tensor = self._attack(torch.cat([logits.softmax(dim=1), own], dim=1))
        return answer.squeeze(1).sigmoid()
