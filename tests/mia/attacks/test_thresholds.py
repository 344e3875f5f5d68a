"""Attacks by one number, on answers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dynaserve.mia.attacks import Evidence
from dynaserve.mia.attacks.thresholds import Confidence, Entropy, Gap, Loss, ModifiedEntropy

P = np.array([[[0.9, 0.05, 0.05], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]])
LABELS = np.array([0, 1, 0])


@pytest.fixture
def evidence() -> Evidence:
    return Evidence(np.log(P), np.array([[1.0, 0.0, 0.0]]), LABELS, None, 0)


def test_confidence_and_loss_are_the_logit_of_the_label(evidence: Evidence) -> None:
    expected = [math.log(0.9 / 0.1), math.log(0.3 / 0.7), math.log(0.1 / 0.9)]
    for attack in (Confidence(), Loss()):
        np.testing.assert_allclose(attack.scores(evidence), [expected])


def test_the_papers_thresholds_are_a_confidence_of_9_tenths_and_a_loss_of_one_half() -> None:
    assert Confidence.paper_threshold is not None
    assert 1 / (1 + math.exp(-Confidence.paper_threshold)) == pytest.approx(0.9)
    assert Loss.paper_threshold is not None
    assert math.log1p(math.exp(-Loss.paper_threshold)) == pytest.approx(0.5)


def test_low_entropy_scores_high(evidence: Evidence) -> None:
    h = -(P * np.log(P)).sum(axis=-1)
    np.testing.assert_allclose(np.exp(-Entropy().scores(evidence)), h)
    assert Entropy().scores(evidence)[0].argmax() == 0


def test_modified_entropy_scores_confident_mistakes_low(evidence: Evidence) -> None:
    m = -0.9 * math.log(0.1) - 0.1 * math.log(0.9) - 0.8 * math.log(0.2)
    scores = ModifiedEntropy().scores(evidence)
    assert math.exp(-scores[0, 2]) == pytest.approx(m)
    assert scores[0].argmin() == 2


def test_gap_reads_right_answers_only(evidence: Evidence) -> None:
    assert Gap().scores(evidence).tolist() == [[1, 0, 0]]
    assert Gap.access == "label"
