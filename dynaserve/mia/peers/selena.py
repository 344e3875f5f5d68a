"""SELENA: distil an ensemble that answers for each member with models that never saw it.

Source: Tang et al., "Mitigating Membership Inference Attacks by Self-Distillation Through a
Novel Ensemble Architecture", USENIX Security 2022.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.mia.peers.baseline import softmax
from dynaserve.mia.shadows.networks import CrossEntropy, NetworkModel, NetworkTrainer, Schedule


@dataclass(frozen=True, eq=False)
class Selena:
    """A trainer: K sub-models, each row excluded from exactly L of them, and one student.

    The student learns, for each training row, the mean softmax of the L sub-models that did not
    see it. Only the student answers.

    Attributes
    ----------
    base
        Trains one sub-model.
    distillation
        Schedule of the student.
    sub_models, excluded
        K and L, 0 < L < K.

    Raises
    ------
    ValueError
        For other K and L.
    """

    base: NetworkTrainer
    distillation: Schedule
    sub_models: int = 25
    excluded: int = 10

    def __post_init__(self) -> None:
        if not 0 < self.excluded < self.sub_models:
            raise ValueError(
                f"SELENA: excluded must lie in 1..{self.sub_models - 1}, got {self.excluded}"
            )

    def fit(self, inputs: NDArray[Any], labels: NDArray[Any], seed: int) -> NetworkModel:
        """Train the sub-models and the student on inputs (n, ...) with labels (n,)."""
        left_out = exclusions(len(labels), self.sub_models, self.excluded, seed)
        seeds = np.random.default_rng([seed, 5]).integers(2**31, size=self.sub_models + 1)
        taught: NDArray[np.float64] | None = None
        for out, sub_seed in zip(left_out.T, seeds[1:], strict=True):
            sub_model = self.base.fit(inputs[~out], labels[~out], int(sub_seed))
            p = softmax(sub_model.logits(inputs[out]).astype(np.float64))
            taught = np.zeros((len(labels), p.shape[1])) if taught is None else taught
            taught[out] += p / self.excluded
        student = replace(self.base, schedule=self.distillation, objective=CrossEntropy())
        return student.fit(inputs, np.asarray(taught, np.float32), int(seeds[0]))


def exclusions(rows: int, sub_models: int, excluded: int, seed: int) -> NDArray[np.bool_]:
    """Return (rows, sub_models) bool with exactly ``excluded`` True in each row."""
    uniform = np.random.default_rng([seed, 6]).random((rows, sub_models))
    return np.asarray(uniform.argsort(axis=1) < excluded)
