"""Trains the target and its shadows, asks each the same questions, and keeps the answers.

A model lives only while it is asked. What a run gives depends on its arguments alone, not on
how often it was interrupted or in how many processes it ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.mia.datasets import Population
from dynaserve.mia.shadows.fingerprint import fingerprint
from dynaserve.mia.shadows.membership import balanced_membership, target_membership
from dynaserve.mia.shadows.queries import Jitter, random_inputs, size_name
from dynaserve.mia.shadows.result import ShadowRun
from dynaserve.mia.shadows.store import Scores, ShadowStore
from dynaserve.mia.shadows.trainer import Model, Trainer
from dynaserve.processes import worker_pool

_RANDOM_INPUTS = 2000


@dataclass(frozen=True, eq=False)
class GivenTarget:
    """A target that is trained already.

    Attributes
    ----------
    model
        What to ask.
    member
        (n,) bool, which rows of the population it was trained on.
    """

    model: Model
    member: NDArray[np.bool_]


def train_shadows(
    trainer: Trainer,
    population: Population,
    *,
    shadows: int = 16,
    jitter: Jitter | None = None,
    target: GivenTarget | None = None,
    seed: int = 0,
    directory: str | Path | None = None,
    workers: int = 1,
    quiet: bool = False,
) -> ShadowRun:
    """Train a target on half of a population and shadows on balanced halves; return all answers.

    Parameters
    ----------
    trainer
        Trains the target and every shadow alike: the attacker knows the training.
    population
        Candidate members and held-out rows.
    shadows
        S, an even number.
    jitter
        Which near-duplicates to ask as well; None asks none. (S + 1) n M k values of two bytes
        per size.
    target
        A target to ask instead of training one. It is asked anew when a run is resumed.
    seed
        Of membership, training and made-up queries.
    directory
        Where finished models' answers are kept; a run that is started again with the same
        arguments goes on where it stopped.
    workers
        How many processes train; no result depends on it.
    quiet
        Draw no progress bar. Without a terminal there is none either.

    Raises
    ------
    ValueError
        For an odd number of shadows, a directory that holds another run, or models whose
        answers do not fit the population.
    """
    n = len(population.labels)
    if target is not None and target.member.shape != (n,):
        raise ValueError(f"target: member has shape {target.member.shape}, needs ({n},)")
    member = target_membership(n, seed) if target is None else target.member.astype(bool)
    membership = np.vstack([member[None], balanced_membership(shadows, n, seed)])
    task = _Task(trainer, population, membership, jitter, seed)
    store = None if directory is None else ShadowStore(directory, task.identity())
    kept = {} if store is None else {i: store.read(i) for i in range(len(membership))}
    finished = {index: scores for index, scores in kept.items() if scores is not None}
    if target is not None:
        finished[0] = task.ask(target.model)
    missing = [index for index in range(len(membership)) if index not in finished]
    trained = _trained(task, missing, workers)
    for index, scores in trained if quiet else _progress(trained, len(missing)):
        if store is not None:
            store.write(index, scores)
        finished[index] = scores
    return _collected(population, membership, [finished[i] for i in range(len(membership))])


@dataclass(frozen=True, eq=False)
class _Task:
    """All that a process needs to know to train any one of the models."""

    trainer: Trainer
    population: Population
    membership: NDArray[np.bool_]
    jitter: Jitter | None
    seed: int

    def identity(self) -> dict[str, str]:
        """Return the fingerprint of each part of the configuration."""
        parts = {
            "trainer": self.trainer,
            "data": self.population,
            "number of shadows or seed": [self.membership, self.seed],
            "jitter": self.jitter,
        }
        return {name: fingerprint(part) for name, part in parts.items()}

    def train(self, index: int) -> Scores:
        """Train model ``index`` and ask it."""
        member = self.membership[index]
        seed = int(np.random.default_rng([self.seed, 4, index]).integers(2**31))
        population = self.population
        return self.ask(
            self.trainer.fit(population.inputs[member], population.labels[member], seed)
        )

    def ask(self, model: Model) -> Scores:
        """Return a model's answers to everything."""
        p = self.population
        random = random_inputs(p.inputs, _RANDOM_INPUTS, binary=p.binary, seed=self.seed)
        return Scores(
            logits=self._logits(model, p.inputs),
            held_out=self._logits(model, p.held_out_inputs),
            random=self._logits(model, random),
            neighbors={} if self.jitter is None else self._near(model, self.jitter),
        )

    def _near(self, model: Model, jitter: Jitter) -> dict[str, NDArray[np.float16]]:
        p = self.population
        near = {}
        for size in jitter.sizes:
            chunks = jitter.chunks(p.inputs, size, binary=p.binary, seed=self.seed)
            rows = np.concatenate([_half(self._logits(model, chunk)) for chunk in chunks])
            near[size_name(size)] = rows.reshape(len(p.inputs), jitter.copies, p.classes)
        return near

    def _logits(self, model: Model, inputs: NDArray[Any]) -> NDArray[np.float32]:
        if not len(inputs):
            return np.empty((0, self.population.classes), np.float32)
        logits = np.asarray(model.logits(inputs), np.float32)
        expected = (len(inputs), self.population.classes)
        if logits.shape != expected:
            raise ValueError(f"model: gave logits of shape {logits.shape}, needs {expected}")
        if not np.isfinite(logits).all():
            raise ValueError("model: gave logits that are not finite; did its training diverge?")
        return logits


def _half(logits: NDArray[np.float32]) -> NDArray[np.float16]:
    below = np.maximum(logits - logits.max(axis=1, keepdims=True), np.finfo(np.float16).min)
    return np.asarray(below.astype(np.float16))


def _trained(task: _Task, missing: Sequence[int], workers: int) -> Iterator[tuple[int, Scores]]:
    """Yield index and answers of each model, as they come."""
    if workers <= 1 or len(missing) <= 1:
        for index in missing:
            yield index, task.train(index)
        return
    with worker_pool(workers, _remember, task) as pool:
        futures = {pool.submit(_train_remembered, index): index for index in missing}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


_remembered: list[_Task] = []


def _remember(task: _Task) -> None:
    """Keep the task in this worker, so that the data is sent once and not for each model."""
    _remembered[:] = [task]


def _train_remembered(index: int) -> Scores:
    return _remembered[0].train(index)


def _progress(trained: Iterator[tuple[int, Scores]], total: int) -> Iterator[tuple[int, Scores]]:
    """Pass on what comes, and show how far it is if somebody is watching."""
    from rich.console import Console  # noqa: PLC0415 - only while training
    from rich.progress import track  # noqa: PLC0415

    console = Console(stderr=True)
    yield from track(
        trained,
        "training models",
        total=total,
        console=console,
        transient=True,
        disable=not console.is_terminal or not total,
    )


def _collected(
    population: Population, membership: NDArray[np.bool_], scores: Sequence[Scores]
) -> ShadowRun:
    target, shadows = scores[0], scores[1:]
    return ShadowRun(
        logits=target.logits,
        labels=population.labels,
        member=membership[0],
        shadow_logits=np.stack([s.logits for s in shadows]),
        shadow_member=membership[1:],
        held_out_logits=target.held_out,
        held_out_labels=population.held_out_labels,
        shadow_held_out_logits=np.stack([s.held_out for s in shadows]),
        random_logits=target.random,
        queries=population.inputs,
        neighbor_logits=target.neighbors,
        shadow_neighbor_logits={
            size: np.stack([s.neighbors[size] for s in shadows]) for size in target.neighbors
        },
    )
