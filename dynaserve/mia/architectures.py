"""Target models of the reproduced experiments: small enough for two cores, over-fitted on purpose.

Membership inference is measured where it works: the networks have capacity to learn their
members by heart, and nothing in the recipes restrains them. These are not models to serve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dynaserve.mia.datasets import Dataset

if TYPE_CHECKING:
    import torch

    from dynaserve.mia.shadows.networks import NetworkTrainer


@dataclass(frozen=True)
class Perceptron:
    """Dense layers with ReLU between them.

    Attributes
    ----------
    inputs
        d; inputs (b, ...) are flattened to it.
    hidden
        Width of each hidden layer.
    dropout
        Share of hidden units dropped in training.
    """

    inputs: int
    hidden: tuple[int, ...]
    classes: int
    dropout: float = 0.0

    def __call__(self) -> torch.nn.Module:
        """Return it untrained."""
        from torch import nn  # noqa: PLC0415 - optional

        layers: list[nn.Module] = [nn.Flatten()]
        width = self.inputs
        for units in self.hidden:
            layers += [nn.Linear(width, units), nn.ReLU(), *_dropout(self.dropout)]
            width = units
        return nn.Sequential(*layers, nn.Linear(width, self.classes))


@dataclass(frozen=True)
class StridedConvNet:
    """Three 3 x 3 convolutions of stride 2 over 32 x 32 images, and one hidden dense layer.

    Strides instead of pooling: a quarter of the work, which fifty near-duplicates of each image
    multiply. Takes (b, 3, 32, 32) of about unit variance.
    """

    classes: int
    channels: tuple[int, int, int] = (16, 32, 64)
    units: int = 128
    dropout: float = 0.0

    def __call__(self) -> torch.nn.Module:
        """Return it untrained."""
        from torch import nn  # noqa: PLC0415 - optional

        layers: list[nn.Module] = []
        depth = 3
        for channels in self.channels:
            layers += [nn.Conv2d(depth, channels, 3, stride=2, padding=1), nn.ReLU()]
            depth = channels
        head = [nn.Flatten(), *_dropout(self.dropout), nn.Linear(depth * 16, self.units)]
        layers += [*head, nn.ReLU(), *_dropout(self.dropout), nn.Linear(self.units, self.classes)]
        return nn.Sequential(*layers)


_RECIPES: dict[str, tuple[tuple[int, ...] | None, int, int]] = {
    "cifar10": (None, 20, 64),
    "location30": ((256, 128), 60, 64),
    "sst2": ((64,), 15, 64),
    "adult": ((256, 128), 60, 64),
    "digits": ((128,), 100, 32),
}
"""Data set -> hidden widths of its perceptron (None: the convolutional one), epochs and batch."""


def recipe(dataset: Dataset, *, quick: bool = False, dropout: float = 0.0) -> NetworkTrainer:
    """Return the trainer of a data set's target model, trained with Adam at 1e-3.

    Parameters
    ----------
    dataset
        One of `dynaserve.mia.datasets.load`.
    quick
        A third of the epochs: enough to see every attack at work, not to compare figures.
    dropout
        Share of hidden units dropped in training.

    Raises
    ------
    ValueError
        For a data set without a recipe.
    ImportError
        Naming the extra, without torch.
    """
    from dynaserve.mia.shadows.networks import NetworkTrainer, Schedule  # noqa: PLC0415 - torch

    if dataset.name not in _RECIPES:
        raise ValueError(f"no recipe for {dataset.name!r}; there is one for {', '.join(_RECIPES)}")
    hidden, epochs, batch = _RECIPES[dataset.name]
    features, classes = dataset.inputs[0].size, len(dataset.classes)
    network: Callable[[], torch.nn.Module] = (
        StridedConvNet(classes, dropout=dropout)
        if hidden is None
        else Perceptron(features, hidden, classes, dropout)
    )
    return NetworkTrainer(network, Schedule(epochs // 3 if quick else epochs, batch))


def _dropout(share: float) -> list[torch.nn.Module]:
    from torch import nn  # noqa: PLC0415 - optional

    return [nn.Dropout(share)] if share else []
