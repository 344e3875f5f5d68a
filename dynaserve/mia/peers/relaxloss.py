"""RelaxLoss: training that holds the loss of members at a level instead of at zero.

Source: Chen, Yu and Fritz, "RelaxLoss: Defending Membership Inference Attacks without Losing
Utility", ICLR 2022, algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional

from dynaserve.mia.shadows.networks import StepLoss


@dataclass(frozen=True)
class RelaxLoss:
    """Gradient descent above the target loss, ascent or flattened posteriors below it.

    With L the cross-entropy of a batch: in even epochs minimize |L - alpha|; in odd epochs L if
    L > alpha, else the mean over rows of [wrong] CE(q, p) - L_i. The soft label q keeps the
    probability of the true class, at most ``upper``, and spreads the rest evenly; it is a
    constant of the step.

    Attributes
    ----------
    alpha
        The level, in nats; below log k.
    upper
        The most that a soft label gives to the true class.
    """

    alpha: float
    upper: float = 1.0

    def begin(self, network: torch.nn.Module) -> StepLoss:  # noqa: ARG002
        """Return the loss; it has no state."""
        return self._loss

    def _loss(self, logits: torch.Tensor, labels: torch.Tensor, epoch: int) -> torch.Tensor:
        losses = functional.cross_entropy(logits, labels, reduction="none")
        loss = losses.mean()
        if epoch % 2 == 0:
            return (loss - self.alpha).abs()
        if loss > self.alpha:
            return loss
        wrong = (logits.argmax(dim=1) != labels).float()
        soft = self._soft_labels(logits.detach(), labels)
        return (wrong * functional.cross_entropy(logits, soft, reduction="none") - losses).mean()

    def _soft_labels(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        own = logits.softmax(dim=1).gather(1, labels[:, None]).clamp(max=self.upper)
        rest = (1 - own) / (logits.shape[1] - 1)
        return rest.expand_as(logits).scatter(1, labels[:, None], own)
