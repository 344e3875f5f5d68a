"""HAMP: entropy of soft labels, the training loss, and outputs that keep the order alone."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch

from dynaserve.mia.peers.hamp import HampObjective, HampOutput, top_of_soft_label


@pytest.mark.parametrize("classes", [2, 10, 100])
@pytest.mark.parametrize("gamma", [0.05, 0.5, 0.95])
def test_soft_labels_have_the_entropy_asked_for(gamma: float, classes: int) -> None:
    p = top_of_soft_label(gamma, classes)
    soft = [p, *[(1 - p) / (classes - 1)] * (classes - 1)]
    assert p > 1 / classes
    assert scipy.stats.entropy(soft) == pytest.approx(gamma * math.log(classes), rel=1e-9)


@pytest.mark.parametrize("gamma", [0.0, 1.0, -1.0, math.nan])
def test_an_entropy_out_of_reach_is_refused(gamma: float) -> None:
    with pytest.raises(ValueError, match="gamma"):
        top_of_soft_label(gamma, 10)


def test_the_loss_is_divergence_minus_entropy_per_row() -> None:
    logits = np.random.default_rng(0).normal(size=(6, 4))
    labels = np.array([0, 1, 2, 3, 0, 1])
    p = scipy.special.softmax(logits, axis=1)
    top = top_of_soft_label(0.8, 4)
    soft = np.where(np.eye(4)[labels] == 1, top, (1 - top) / 3)
    divergence = scipy.special.rel_entr(soft, p).sum(axis=1).mean()
    entropy = scipy.special.entr(p).sum(axis=1).mean()
    loss = HampObjective(gamma=0.8, alpha=0.1).begin(torch.nn.Identity())
    got = loss(torch.from_numpy(logits), torch.from_numpy(labels), 0)
    assert float(got) == pytest.approx(divergence - 0.1 * entropy)


def test_training_makes_answers_uncertain(task: Any) -> None:
    p = task.population

    def entropy(trainer: Any) -> float:
        logits = trainer.fit(p.inputs[:100], p.labels[:100], 0).logits(p.inputs[:100])
        return float(scipy.special.entr(scipy.special.softmax(logits, axis=1)).sum(axis=1).mean())

    hamp = replace(task.plain, objective=HampObjective(gamma=0.8, alpha=0.01))
    assert entropy(task.plain) < 0.1 * math.log(3)
    assert entropy(hamp) == pytest.approx(0.8 * math.log(3), rel=0.1)


RANDOM = np.random.default_rng(1).normal(size=(30, 6))


def test_outputs_are_scores_of_random_inputs_in_the_order_of_the_query() -> None:
    logits = np.random.default_rng(2).normal(scale=5, size=(400, 6)).astype(np.float32)
    released = HampOutput(RANDOM)(logits)
    np.testing.assert_array_equal(released.argsort(axis=1), logits.argsort(axis=1))
    bank = np.sort(scipy.special.softmax(RANDOM, axis=1), axis=1)
    for row in np.sort(released, axis=1):
        assert np.abs(bank - row).max(axis=1).min() < 2e-6
    assert len(np.unique(np.sort(released, axis=1), axis=0)) == 30


def test_ties_of_the_query_and_of_the_random_input_leave_one_label() -> None:
    output = HampOutput(np.zeros((3, 4)))
    released = output(np.array([[1.0, 2.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0]]))
    assert released.argmax(axis=1).tolist() == [1, 0]
    assert (np.sort(released, axis=1)[:, -1] > np.sort(released, axis=1)[:, -2]).all()


def test_a_repeated_query_gets_the_same_answer() -> None:
    output = HampOutput(RANDOM)
    logits = np.random.default_rng(3).normal(size=(50, 6))
    np.testing.assert_array_equal(output(logits), output(logits))
    assert not np.array_equal(output(logits), HampOutput(RANDOM, seed=1)(logits))


def test_another_number_of_classes_is_refused() -> None:
    with pytest.raises(ValueError, match="scores of 6 classes do not fit 5"):
        HampOutput(RANDOM)(np.zeros((1, 5)))
