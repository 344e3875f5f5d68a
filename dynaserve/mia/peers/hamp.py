"""HAMP: train for uncertain answers, then release no score of the query itself.

Source: Chen and Pattabiraman, "Overconfidence is a Dangerous Thing: Mitigating Membership
Inference Attacks by Enforcing Less Confident Prediction", NDSS 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from dynaserve.mia.peers.baseline import Baseline, one_time_uniforms, softmax
from dynaserve.mia.shadows.networks import StepLoss

_UNIQUE_TOP = 1e-6


@dataclass(frozen=True)
class HampObjective:
    """The training part: KL divergence from high-entropy soft labels, minus alpha H(p).

    Means are over rows, not over rows and classes.

    Attributes
    ----------
    gamma
        Entropy of the soft labels as a share of log k, in (0, 1).
    alpha
        Weight of the entropy of the answers.
    """

    gamma: float = 0.8
    alpha: float = 0.01

    def begin(self, network: torch.nn.Module) -> StepLoss:  # noqa: ARG002
        """Return the loss; it has no state."""
        return self._loss

    def _loss(
        self,
        logits: torch.Tensor,
        labels: torch.Tensor,
        epoch: int,  # noqa: ARG002
    ) -> torch.Tensor:
        classes = logits.shape[1]
        top = top_of_soft_label(self.gamma, classes)
        rest = torch.full_like(logits, (1 - top) / (classes - 1))
        soft = rest.scatter(1, labels[:, None], top)
        log_p = logits.log_softmax(dim=1)
        entropy = -(log_p.exp() * log_p).sum(dim=1).mean()
        return functional.kl_div(log_p, soft, reduction="batchmean") - self.alpha * entropy


def top_of_soft_label(gamma: float, classes: int) -> float:
    """Return p such that (p, (1 - p)/(k - 1), ...) has entropy gamma log k; by bisection.

    Raises
    ------
    ValueError
        For gamma outside (0, 1).
    """
    if not 0 < gamma < 1:
        raise ValueError(f"gamma: must lie in (0, 1), got {gamma}")
    low, high = 1 / classes, 1.0
    for _ in range(60):
        p = (low + high) / 2
        if _entropy(p, classes) > gamma * math.log(classes):
            low = p
        else:
            high = p
    return low


def _entropy(p: float, classes: int) -> float:
    rest = 1 - p
    return -p * math.log(p) - (rest * math.log(rest / (classes - 1)) if rest > 0 else 0.0)


class HampOutput(Baseline):
    """The test-time part: the scores of a random input, in the order of the query's own.

    The order of equal logits is that of their index, and the top is made unique. Which random
    input stands in for a query is drawn once for each answer of the model.

    Parameters
    ----------
    random_logits
        (r, k), what the model answers to random inputs.
    """

    def __init__(self, random_logits: NDArray[Any], *, seed: int = 0) -> None:
        scores = -np.sort(-softmax(np.asarray(random_logits, np.float64)), axis=1)
        scores[:, 0] += _UNIQUE_TOP
        self._scores = (scores / scores.sum(axis=1, keepdims=True)).astype(np.float32)
        self._seed = seed

    def describe(self) -> str:
        """Return one line for people."""
        return f"HAMP, output: the sorted scores of one of {len(self._scores)} random inputs"

    def _release(self, logits: NDArray[np.float32]) -> NDArray[Any]:
        if logits.shape[1] != self._scores.shape[1]:
            raise ValueError(
                f"HAMP: scores of {self._scores.shape[1]} classes do not fit {logits.shape[1]}"
            )
        chosen = (one_time_uniforms(logits, self._seed) * len(self._scores)).astype(int)
        released = np.empty_like(logits)
        order = np.argsort(-logits, axis=1, kind="stable")
        np.put_along_axis(released, order, self._scores[chosen], axis=1)
        return released
