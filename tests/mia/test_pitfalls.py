"""Mistakes that fit in shape are refused, and too few rows are put in numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from dynaserve.defenses.rows import logits_of
from dynaserve.mia.pitfalls import require_apart, require_no_probabilities, too_few_rows

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.ones(4), 50)


@pytest.mark.parametrize(
    "given",
    [
        P,
        P.astype(np.float16),
        P.round(3),
        P.reshape(5, 10, 4),
        np.vstack([P, [[1.0000001, -1e-9, 0, 0]]]),
    ],
    ids=["plain", "half", "rounded", "near", "rounding errors"],
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


def model(rows: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return logits like those of an over-fitted model, and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, rows)
    signal = np.eye(classes)[labels] * rng.normal(6, 4, rows)[:, None]
    return rng.normal(size=(rows, classes)) * 2 + signal, labels


def softmax(logits: np.ndarray) -> np.ndarray:
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


COPIES = {
    "as they are": lambda z: z,
    "shifted": lambda z: z - z.max(axis=1, keepdims=True),
    "half": lambda z: z.astype(np.float16),
    "probabilities": lambda z: logits_of(softmax(z)),
    "of float32": lambda z: logits_of(softmax(z).astype(np.float32)),
}


@pytest.mark.parametrize("classes", [3, 10, 1000])
@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_copies_of_audited_rows_are_known_in_any_form(copy: Any, classes: int) -> None:
    logits, labels = model(300, classes, seed=1)
    others, other_labels = model(100, classes, seed=2)
    both = copy(np.vstack([logits[:100], others]))
    with pytest.raises(ValueError, match="of 200 rows are audited too") as refused:
        require_apart(both, np.r_[labels[:100], other_labels], logits, labels)
    known = int(str(refused.value).split()[1])
    assert 70 <= known <= 100  # all but those that rounding takes over an edge
    require_apart(copy(others), other_labels, logits, labels)


@pytest.mark.parametrize("copy", [name for name in COPIES if name != "half"])
def test_two_classes_are_told_apart_too(copy: str) -> None:
    logits, labels = model(2000, 2, seed=1)
    with pytest.raises(ValueError, match="of 2,000 rows are audited too"):
        require_apart(COPIES[copy](logits), labels, logits, labels)


@pytest.mark.parametrize("coarse", [np.asarray, np.round, lambda z: z.round(1)])
@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("rows", [100, 1000, 5000])
def test_what_is_alike_by_chance_is_no_copy(rows: int, classes: int, coarse: Any) -> None:
    logits, labels = model(rows, classes, seed=1)
    logits[::2] += 6 * np.eye(classes)[labels[::2]]  # members, surer than others
    others, other_labels = model(1000, classes, seed=2)
    require_apart(coarse(others), other_labels, coarse(logits), labels)


def test_votes_of_a_small_forest_are_alike_by_chance() -> None:
    def forest(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        logits, labels = model(rows, 3, seed)
        votes = np.random.default_rng(seed).multinomial(50, softmax(logits / 3))
        return logits_of(votes / 50), labels

    require_apart(*forest(1000, 2), *forest(1000, 1))


def test_inputs_are_compared_as_they_are() -> None:
    inputs = RNG.integers(0, 2, (60, 40))
    shifted = inputs + 5  # one and the same for a softmax
    require_apart(shifted, np.zeros(60, int), inputs, np.zeros(60, int), inputs=True)
    with pytest.raises(ValueError, match="rows: 60 of 60 rows are audited too"):
        require_apart(
            inputs.astype(np.float64), np.zeros(60), inputs, np.zeros(60), "rows", inputs=True
        )


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
