"""Training networks: seeds, processes, early stopping, and that members are learnt by heart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dynaserve.mia.architectures import Perceptron, StridedConvNet, recipe
from dynaserve.mia.datasets import Population, load
from dynaserve.mia.shadows import train_shadows
from dynaserve.mia.shadows.networks import EarlyStopping, NetworkTrainer, Schedule


def noise(n: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and labels that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 20)).astype(np.float32), rng.integers(0, 3, n)


TRAINER = NetworkTrainer(Perceptron(20, (64,), 3), Schedule(100, 32, 5e-3))


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Have torch use another number of threads than training does, whatever the machine has."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_equal_seeds_give_equal_models_and_leave_the_callers_random_state_alone() -> None:
    inputs, labels = noise(64)
    trainer = replace(TRAINER, schedule=Schedule(epochs=3))
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, again, other = (trainer.fit(inputs, labels, seed).logits(inputs) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == 2
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("schedule", [Schedule(100, 32, 5e-3), Schedule(200, 32, 0.05, "sgd")])
def test_members_are_learnt_by_heart(schedule: Schedule) -> None:
    inputs, labels = noise(64)
    model = replace(TRAINER, schedule=schedule).fit(inputs, labels, 0)
    assert (model.logits(inputs).argmax(axis=1) == labels).all()


def test_soft_labels_are_learnt_as_probabilities() -> None:
    inputs = np.eye(20, dtype=np.float32)[:4]
    soft = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [1 / 3] * 3, [0.5, 0.5, 0]], np.float32)
    schedule = Schedule(epochs=600, batch=4, learning_rate=1e-2)
    logits = replace(TRAINER, schedule=schedule).fit(inputs, soft, 0).logits(inputs)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(p, soft, atol=0.02)


def test_early_stopping_keeps_the_best_epoch() -> None:
    inputs, labels = noise(64)
    unrelated = noise(64, seed=1)
    stopping = EarlyStopping(*unrelated, patience=3)

    def loss(trainer: NetworkTrainer) -> float:
        logits = torch.from_numpy(trainer.fit(inputs, labels, 0).logits(unrelated[0]))
        return torch.nn.functional.cross_entropy(logits, torch.from_numpy(unrelated[1])).item()

    by_epoch = [
        loss(replace(TRAINER, schedule=Schedule(epochs, 32, 5e-3))) for epochs in range(1, 6)
    ]
    assert loss(replace(TRAINER, stopping=stopping)) == pytest.approx(min(by_epoch), abs=1e-6)
    assert loss(TRAINER) > 2 * min(by_epoch)


def test_processes_give_what_one_process_gives(tmp_path: Path) -> None:
    inputs, labels = noise(80)
    population = Population(inputs[:60], labels[:60], inputs[60:], labels[60:], 3, binary=False)
    trainer = replace(TRAINER, schedule=Schedule(epochs=2))
    alone = train_shadows(trainer, population, shadows=2)
    shared = train_shadows(trainer, population, shadows=2, workers=2, directory=tmp_path)
    for name, array in alone.arrays().items():
        np.testing.assert_array_equal(shared.arrays()[name], array)


def test_the_convolutional_network_takes_images() -> None:
    images = np.random.default_rng(0).random((5, 3, 32, 32), np.float32)
    trainer = NetworkTrainer(StridedConvNet(10, dropout=0.5), Schedule(epochs=1))
    logits = trainer.fit(images, np.arange(5), 0).logits(images)
    assert logits.shape == (5, 10)
    # dropout is off when the model is asked
    model = trainer.fit(images, np.arange(5), 0)
    np.testing.assert_array_equal(model.logits(images), model.logits(images))


def test_dropout_stands_behind_every_hidden_layer() -> None:
    kinds = [type(layer).__name__ for layer in Perceptron(4, (8, 6), 2, dropout=0.5)()]
    assert kinds == ["Flatten", *["Linear", "ReLU", "Dropout"] * 2, "Linear"]


def test_recipes_follow_their_data_set() -> None:
    digits = load("digits")
    plain, quick = recipe(digits), recipe(digits, quick=True, dropout=0.25)
    assert plain.network == Perceptron(64, (128,), 10)
    assert quick.network == Perceptron(64, (128,), 10, dropout=0.25)
    assert (plain.schedule.epochs, quick.schedule.epochs) == (100, 33)
    with pytest.raises(ValueError, match="no recipe for 'other'; there is one for cifar10"):
        recipe(replace(digits, name="other"))


def test_the_digits_target_overfits() -> None:
    population = load("digits").population()
    member = np.arange(len(population.labels)) < 300
    model = recipe(load("digits")).fit(population.inputs[member], population.labels[member], 0)
    right = model.logits(population.inputs).argmax(axis=1) == population.labels
    assert right[member].mean() == 1
    assert 0.9 < right[~member].mean() < 0.99
