"""A small task that a network learns by heart: two noisy classes of many features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from dynaserve.mia.architectures import Perceptron
from dynaserve.mia.datasets import Population
from dynaserve.mia.shadows.networks import NetworkTrainer, Schedule, one_thread


@dataclass(frozen=True, eq=False)
class Task:
    """Members are the first half of the population."""

    population: Population
    plain: NetworkTrainer

    def gap(self, trainer: NetworkTrainer) -> tuple[float, float]:
        """Return accuracy on members and on others."""
        p, half = self.population, len(self.population.labels) // 2
        model = trainer.fit(p.inputs[:half], p.labels[:half], seed=0)
        right = model.logits(p.inputs).argmax(axis=1) == p.labels
        return float(right[:half].mean()), float(right[half:].mean())

    def member_loss(self, trainer: NetworkTrainer) -> float:
        """Return the mean cross-entropy of members."""
        p, half = self.population, len(self.population.labels) // 2
        logits = trainer.fit(p.inputs[:half], p.labels[:half], seed=0).logits(p.inputs[:half])
        own = logits[np.arange(half), p.labels[:half]]
        return float((np.logaddexp.reduce(logits, axis=1) - own).mean())


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture(scope="session")
def task() -> Task:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 500)
    centers = rng.normal(size=(3, 30)) * 0.35
    inputs = (centers[labels] + rng.normal(size=(500, 30))).astype(np.float32)
    population = Population(inputs[:200], labels[:200], inputs[200:], labels[200:], 3, binary=False)
    return Task(population, NetworkTrainer(Perceptron(30, (64,), 3), Schedule(60, 20, 3e-3)))
