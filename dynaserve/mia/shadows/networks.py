"""Trains torch networks the same way every time, on one CPU thread.

The loop knows epochs, batches and an optimizer. What is minimized is an `Objective`, so that a
defense that changes training is a loss of its own and not another loop.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dynaserve.extras import needing

with needing("training networks needs torch", extra="torch"):
    import torch

StepLoss = Callable[[torch.Tensor, torch.Tensor, int], torch.Tensor]
"""From logits (b, k), labels (b,) or soft labels (b, k) and the epoch to the loss to minimize."""

_INFERENCE_BATCH = 256


class Objective(Protocol):
    """What training minimizes."""

    def begin(self, network: torch.nn.Module) -> StepLoss:
        """Return the loss of one training run; state that the run needs lives in it."""
        ...


@dataclass(frozen=True)
class CrossEntropy:
    """Plain cross-entropy, the mean over the batch; soft labels are fine."""

    def begin(self, network: torch.nn.Module) -> StepLoss:  # noqa: ARG002
        """Return the loss; it has no state."""
        return lambda logits, labels, epoch: torch.nn.functional.cross_entropy(  # noqa: ARG005
            logits, labels
        )


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train."""

    epochs: int
    batch: int = 64
    learning_rate: float = 1e-3
    optimizer: Literal["adam", "sgd"] = "adam"
    weight_decay: float = 0.0

    def start(self, parameters: Iterator[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """Return the optimizer; SGD has momentum 0.9."""
        if self.optimizer == "sgd":
            return torch.optim.SGD(
                parameters, self.learning_rate, momentum=0.9, weight_decay=self.weight_decay
            )
        return torch.optim.Adam(
            parameters, self.learning_rate, weight_decay=self.weight_decay, fused=True
        )


@dataclass(frozen=True, eq=False)
class EarlyStopping:
    """Keep the network of the epoch with the least validation loss.

    Training ends once ``patience`` epochs in a row were no better.
    """

    inputs: NDArray[Any]
    labels: NDArray[Any]
    patience: int = 3


@dataclass(frozen=True)
class NetworkModel:
    """A trained network behind `Model`."""

    network: torch.nn.Module

    def logits(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the outputs of the network in evaluation mode, batch by batch."""
        self.network.eval()
        with one_thread(), torch.inference_mode():
            batches = [
                self.network(as_tensor(inputs[begin : begin + _INFERENCE_BATCH]))
                for begin in range(0, len(inputs), _INFERENCE_BATCH)
            ]
            return np.asarray(torch.cat(batches).float().numpy(force=True))


@dataclass(frozen=True, eq=False)
class NetworkTrainer:
    """Trains fresh networks with a seeded loop; equal arguments give equal weights.

    Parameters
    ----------
    network
        Makes an untrained ``torch.nn.Module`` from inputs (b, ...) float32 to logits (b, k).
        To train in several processes it must be picklable: a class or function of a module.
    schedule
        Epochs, batch size and optimizer.
    objective
        What is minimized.
    stopping
        When to stop before the last epoch; None never.

    Examples
    --------
    >>> import numpy as np
    >>> from dynaserve.mia.architectures import Perceptron
    >>> trainer = NetworkTrainer(Perceptron(inputs=2, hidden=(8,), classes=2), Schedule(epochs=60))
    >>> inputs, labels = np.eye(2, dtype=np.float32), np.array([0, 1])
    >>> trainer.fit(inputs, labels, seed=0).logits(inputs).argmax(axis=1).tolist()
    [0, 1]
    """

    network: Callable[[], torch.nn.Module]
    schedule: Schedule
    objective: Objective = CrossEntropy()
    stopping: EarlyStopping | None = None

    def fit(self, inputs: NDArray[Any], labels: NDArray[Any], seed: int) -> NetworkModel:
        """Train on inputs (n, ...) with labels (n,) in 0..k-1, or with soft labels (n, k)."""
        with seeded(seed), one_thread():
            network = self.network()
            self._train(network, as_tensor(inputs), torch.as_tensor(labels))
        return NetworkModel(network)

    def _train(self, network: torch.nn.Module, inputs: torch.Tensor, labels: torch.Tensor) -> None:
        loss_of = self.objective.begin(network)
        optimizer = self.schedule.start(network.parameters())
        best = _Best(self.stopping) if self.stopping else None
        for epoch in range(self.schedule.epochs):
            network.train()
            order = torch.randperm(len(inputs))
            for begin in range(0, len(inputs), self.schedule.batch):
                batch = order[begin : begin + self.schedule.batch]
                loss = loss_of(network(inputs[batch]), labels[batch], epoch)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            if best and best.ends(network):
                break
        if best:
            best.restore(network)


class _Best:
    """The best weights so far, by validation loss."""

    def __init__(self, stopping: EarlyStopping) -> None:
        self._inputs = as_tensor(stopping.inputs)
        self._labels = torch.as_tensor(stopping.labels)
        self._patience = stopping.patience
        self._loss = float("inf")
        self._weights: dict[str, Any] | None = None
        self._worse = 0

    def ends(self, network: torch.nn.Module) -> bool:
        """Look at the network after an epoch; return whether training should end."""
        network.eval()
        with torch.inference_mode():
            loss = torch.nn.functional.cross_entropy(network(self._inputs), self._labels).item()
        if loss < self._loss:
            self._loss, self._worse = loss, 0
            self._weights = copy.deepcopy(network.state_dict())
        else:
            self._worse += 1
        return self._worse >= self._patience

    def restore(self, network: torch.nn.Module) -> None:
        if self._weights is not None:
            network.load_state_dict(self._weights)


def as_tensor(inputs: NDArray[Any]) -> torch.Tensor:
    """Return inputs as float32; images in the memory order that convolutions on a CPU like."""
    tensor = torch.from_numpy(np.ascontiguousarray(inputs, np.float32))
    return tensor.contiguous(memory_format=torch.channels_last) if tensor.ndim == 4 else tensor


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch inside, and give the caller its own random state back after."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: sums over several come out in another order each time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
