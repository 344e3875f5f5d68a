"""MemGuard: the label stays, the budget holds, the membership classifier is turned around."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import torch
from sklearn.metrics import roc_auc_score

from dynaserve.mia.peers.memguard import MemGuard

CLASSES = 5


def answers(n: int, certainty: float, seed: int) -> np.ndarray:
    """Return logits whose top class leads by about ``certainty``."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, CLASSES))
    logits[np.arange(n), rng.integers(0, CLASSES, n)] += certainty
    return logits.astype(np.float32)


MEMBERS, OTHERS = answers(300, 9.0, 0), answers(300, 4.0, 1)
STEPS = 100
"""A third of the paper's: these rows need fewer."""
ROWS = np.concatenate([answers(60, 9.0, 2), answers(60, 4.0, 3)])
MEMBER = np.arange(120) < 60


@pytest.fixture(scope="module")
def memguard() -> MemGuard:
    return MemGuard(MEMBERS, OTHERS, epsilon=1.0, iterations=STEPS)


def distortion(released: np.ndarray) -> np.ndarray:
    return np.abs(released - scipy.special.softmax(ROWS, axis=1)).sum(axis=-1)


def score(defense: MemGuard, p: np.ndarray) -> np.ndarray:
    return defense.membership_score(torch.from_numpy(np.log(np.maximum(p, 1e-30)))).numpy()


def test_the_label_never_changes(memguard: MemGuard) -> None:
    np.testing.assert_array_equal(memguard(ROWS).argmax(axis=1), ROWS.argmax(axis=1))


def test_the_membership_classifier_is_led_astray(memguard: MemGuard) -> None:
    before = score(memguard, scipy.special.softmax(ROWS, axis=1))
    after = score(memguard, memguard(ROWS))
    assert roc_auc_score(MEMBER, before) > 0.95
    assert roc_auc_score(MEMBER, after) < 0.6
    assert (np.sign(before) != np.sign(after)).mean() > 0.9


def test_released_scores_are_near_the_classifiers_doubt(memguard: MemGuard) -> None:
    doubt = np.abs(scipy.special.expit(score(memguard, memguard(ROWS))) - 0.5)
    before = np.abs(scipy.special.expit(score(memguard, scipy.special.softmax(ROWS, 1))) - 0.5)
    assert np.median(doubt) < 0.1 < np.median(before)


@pytest.mark.parametrize("epsilon", [0.1, 0.02])
def test_the_expected_distortion_stays_in_the_budget(epsilon: float) -> None:
    # The same answers with other bits, so that each copy of a row has a draw of its own.
    copies = ROWS + np.linspace(0, 1, 12, dtype=np.float32)[:, None, None]
    defense = MemGuard(MEMBERS, OTHERS, epsilon=epsilon, iterations=STEPS)
    spent = distortion(defense(copies))
    # the mean over 12 draws and 120 rows of amounts up to 2
    assert np.mean(spent) <= epsilon + 3 * np.std(spent) / np.sqrt(12 * 120)
    assert np.mean(spent) > 0


def test_without_a_budget_nothing_changes() -> None:
    released = MemGuard(MEMBERS, OTHERS, epsilon=0.0)(ROWS)
    np.testing.assert_allclose(released, scipy.special.softmax(ROWS, axis=1), atol=1e-6)


def test_a_repeated_query_gets_the_same_answer_in_any_batch(memguard: MemGuard) -> None:
    whole = memguard(ROWS)
    np.testing.assert_allclose(memguard(ROWS[50:80]), whole[50:80], atol=1e-5)
    np.testing.assert_array_equal(memguard(ROWS), whole)


def test_a_budget_that_is_no_distance_is_refused() -> None:
    with pytest.raises(ValueError, match=r"an L1 distance lies in 0\.\.2"):
        MemGuard(MEMBERS, OTHERS, epsilon=3.0)
