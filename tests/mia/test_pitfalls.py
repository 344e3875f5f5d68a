"""Mistakes that fit in shape are refused, and too few rows are put in numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from dynaserve.mia.pitfalls import require_apart, require_no_probabilities, too_few_rows

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.ones(4), 50)


@pytest.mark.parametrize(
    "given",
    [P, P.astype(np.float16), P.round(3), P.reshape(5, 10, 4)],
    ids=["plain", "half", "rounded", "near"],
)
def test_probabilities_are_no_logits(given: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"held_out: every row lies in 0\.\.1 and sums to 1"):
        require_no_probabilities(given, "held_out")


@pytest.mark.parametrize(
    "given",
    [np.log(P), 2 * P, P - 0.01, np.vstack([P, [[0.9] * 4]]), np.eye(4), np.empty((0, 4))],
    ids=["logarithms", "doubled", "shifted", "one row is none", "bare labels", "no rows"],
)
def test_what_only_looks_like_them_is_taken(given: np.ndarray) -> None:
    require_no_probabilities(given, "logits")


LABELS = np.arange(50) % 4


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_audited_rows_are_not_held_out_ones(dtype: type) -> None:
    held_out, labels = np.vstack([RNG.normal(size=(80, 4)), P[:20]]), RNG.integers(0, 4, 100)
    labels[80:] = LABELS[:20]
    with pytest.raises(ValueError, match="held_out_logits: 20 of 100 rows are audited too"):
        require_apart(held_out.astype(dtype), labels, P, LABELS)


def test_a_few_twins_are_forgiven_and_other_labels_make_other_rows() -> None:
    held_out = np.vstack([RNG.normal(size=(90, 4)), P[:10]])
    require_apart(held_out, np.r_[np.zeros(90, int), LABELS[:10]], P, LABELS)
    require_apart(P, (LABELS + 1) % 4, P, LABELS)


def test_answers_that_many_rows_get_say_nothing() -> None:
    coarse = np.eye(4)[LABELS]
    require_apart(coarse, LABELS, coarse, LABELS)


@pytest.mark.parametrize(("members", "others"), [(2, 3), (60, 40), (99, 5000)])
def test_what_chance_does_is_the_deviation_of_the_rank_sum(members: int, others: int) -> None:
    sentence = too_few_rows(np.arange(members + others) < members)
    assert sentence is not None
    assert f"{members} members and {others} non-members" in sentence
    # The normal approximation that scipy uses for the same statistic, solved for its deviation.
    rows = np.arange(members + others, dtype=float)
    found = mannwhitneyu(rows[:members], rows[members:], method="asymptotic", use_continuity=False)
    from scipy.stats import norm

    deviation = 0.5 / norm.isf(found.pvalue / 2)
    assert f".5 ± {min(1.96 * deviation, 0.5):.2f}" in sentence


def test_a_hundred_of_either_are_enough_to_say_nothing() -> None:
    assert too_few_rows(np.arange(200) < 100) is None
    assert too_few_rows(np.arange(200) < 99) is not None
    assert too_few_rows(np.arange(200) < 101) is not None
