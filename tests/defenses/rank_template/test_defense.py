from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import softmax

from dynaserve import RankTemplate
from dynaserve.defenses import Defense, PublicReference
from dynaserve.defenses.rank_template.reference import rank_template_reference


def held_out(n: int = 400, classes: int = 7, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    return rng.normal(size=(n, classes)) + 2.0 * np.eye(classes)[labels], labels


DEFENSE = RankTemplate.calibrate(*held_out())
TWO_BUCKETS = RankTemplate.calibrate(*held_out(), buckets=2)

LOGITS = hnp.arrays(
    st.sampled_from([np.float16, np.float32, np.float64]),
    st.tuples(st.integers(1, 5), st.just(7)),
    elements=st.one_of(st.integers(-3, 3), st.floats(-1e4, 1e4, width=16)),
)


def order(z: np.ndarray) -> np.ndarray:
    return np.argsort(-z.astype(np.float64), axis=-1, kind="stable")


VALUES = st.lists(st.floats(-1e4, 1e4, width=16), min_size=7, max_size=7, unique=True)
"""Seven values that float16, and so every dtype, tells apart."""


@given(VALUES, VALUES, st.permutations(range(7)), st.permutations(range(3)), st.data())
def test_rows_with_the_same_top_four_order_get_identical_bytes(
    first: list[float], second: list[float], places: list[int], below: list[int], data: Any
) -> None:
    dtypes = st.sampled_from([np.float16, np.float32, np.float64])
    one, other = np.empty(7, data.draw(dtypes)), np.empty(7, data.draw(dtypes))
    one[places] = sorted(first, reverse=True)
    shuffled = [*places[:4], *(places[4 + i] for i in below)]
    other[shuffled] = sorted(second, reverse=True)
    assert DEFENSE(one).tobytes() == DEFENSE(other).tobytes()


@given(LOGITS)
def test_another_top_four_order_gets_another_answer(z: np.ndarray) -> None:
    swapped = z[:, [1, 0, 2, 3, 4, 5, 6]]
    differs = (order(z)[:, :4] != order(swapped)[:, :4]).any(axis=1)
    assert ((DEFENSE(z) != DEFENSE(swapped)).any(axis=1) == differs).all()


@pytest.mark.parametrize("defense", [DEFENSE, TWO_BUCKETS], ids=["one", "two"])
@given(z=LOGITS)
def test_the_label_is_kept_with_a_strict_lead(defense: RankTemplate, z: np.ndarray) -> None:
    p = defense(z)
    assert (p.argmax(axis=1) == z.argmax(axis=1)).all()
    ordered = np.sort(p, axis=1)
    assert (ordered[:, -1] > ordered[:, -2]).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)


@given(LOGITS, st.lists(st.integers(0, 6), min_size=1, max_size=6, unique=True))
def test_masked_classes_are_zero_and_the_rest_sums_to_one(z: np.ndarray, mask: list[int]) -> None:
    z[:, mask] = -np.inf
    p = DEFENSE(z)
    assert (p[:, mask] == 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)
    assert (p.argmax(axis=1) == z.argmax(axis=1)).all()


@given(LOGITS)
def test_two_buckets_depend_on_the_order_and_the_margins_side_alone(z: np.ndarray) -> None:
    template = TWO_BUCKETS.template
    ordered = np.sort(z.astype(np.float64), axis=1)
    low = ordered[:, -1] - ordered[:, -2] <= template.low_margin
    for rows, confidence in ((low, template.confidence[0]), (~low, template.confidence[1])):
        expected = rank_template_reference(
            z[rows], np.array(confidence), np.array(template.rank_weights), template.tail_weight
        )
        np.testing.assert_allclose(TWO_BUCKETS(z)[rows], expected, atol=1e-6)


def test_the_release_is_the_references() -> None:
    template, (z, _) = DEFENSE.template, held_out(seed=1)
    expected = rank_template_reference(
        z, np.array(template.confidence[0]), np.array(template.rank_weights), template.tail_weight
    )
    np.testing.assert_allclose(DEFENSE(z), expected, atol=1e-6)


@pytest.mark.parametrize("ranks", [6, 7, 100])
def test_enough_ranks_template_every_rank(ranks: int) -> None:
    defense = RankTemplate.calibrate(*held_out(), ranks=ranks)
    assert len(defense.template.rank_weights) == 6
    assert defense.template.tail_weight == 0
    p = defense(np.arange(7.0))
    rest = 1 - p[6]
    np.testing.assert_allclose(p[5::-1], rest * np.array(defense.template.rank_weights), atol=1e-6)


def test_two_classes_have_one_runner_up() -> None:
    z, y = held_out(classes=2)
    defense = RankTemplate.calibrate(z, y)
    assert defense.template.rank_weights == (1.0,)
    assert (defense(z).argmax(axis=1) == z.argmax(axis=1)).all()


@pytest.mark.parametrize("defense", [DEFENSE, TWO_BUCKETS], ids=["one", "two"])
@pytest.mark.parametrize("shape", [(7,), (3, 7), (2, 3, 7), (4, 3, 2, 7), (0, 7), (2, 0, 7)])
def test_shapes_kinds_and_dtypes_come_back(defense: RankTemplate, shape: tuple[int, ...]) -> None:
    z = np.random.default_rng(0).normal(size=shape) * 0.3
    p = defense(z, queries="not needed")
    assert (type(p), p.dtype, p.shape) == (np.ndarray, np.float32, shape)
    flat = defense(z.reshape(-1, 7))
    assert p.tobytes() == flat.tobytes()
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        tensor = torch.from_numpy(z).to(dtype)
        from_torch = defense(tensor)
        assert (from_torch.dtype, from_torch.shape) == (torch.float32, shape)
        assert from_torch.numpy().tobytes() == defense(tensor.double().numpy()).tobytes()


def test_probabilities_have_the_order_of_their_logits() -> None:
    z, y = held_out(seed=3)
    q = softmax(z, axis=1)
    assert DEFENSE.from_probabilities(q).tobytes() == DEFENSE(z).tobytes()
    calibrated = RankTemplate.calibrate_from_probabilities(q, y, ranks=2)
    expected = RankTemplate.calibrate(z, y, ranks=2)
    assert calibrated.template == expected.template


COUNTS = st.lists(st.integers(0, 6), min_size=7, max_size=7).filter(any)
"""Votes of a forest for seven classes, many of them none."""


@given(COUNTS, st.sets(st.integers(4, 6)), st.data())
def test_which_classes_below_the_top_four_are_zero_changes_no_bit(
    votes: list[int], silenced: set[int], data: Any
) -> None:
    dtypes = st.sampled_from([np.float16, np.float32, np.float64])
    one = np.array(votes, np.float64)
    other = one.copy()
    other[order(one)[list(silenced)]] = 0
    first, second = (
        DEFENSE.from_probabilities((q / q.sum()).astype(data.draw(dtypes))) for q in (one, other)
    )
    assert first.tobytes() == second.tobytes()
    assert (first > 0).all()


@pytest.mark.parametrize("defense", [DEFENSE, TWO_BUCKETS], ids=["one", "two"])
def test_the_number_of_zeros_among_the_top_four_changes_no_bit(defense: RankTemplate) -> None:
    rows = np.array(
        [
            [1.0, 0, 0, 0, 0, 0, 0],
            [0.99, 0.01, 0, 0, 0, 0, 0],
            [0.9, 0.05, 0.03, 0.02, 0, 0, 0],
            [0.9, 0.04, 0.03, 0.02, 0.004, 0.003, 0.003],
        ]
    )
    assert len({p.tobytes() for p in defense.from_probabilities(rows)}) == 1


def test_a_saturated_float16_softmax_releases_what_its_logits_do() -> None:
    z = np.array([[30.0, 16.0, 15.0, 14.5, -1.0, -2.0, -3.0]])
    saturated = softmax(z, axis=1).astype(np.float16)
    assert (saturated == 0).sum() == 3
    assert DEFENSE.from_probabilities(saturated).tobytes() == DEFENSE(z).tobytes()


def test_repeats_and_threads_do_not_change_a_bit() -> None:
    z, y = held_out()
    threaded = RankTemplate.calibrate(z, y, threads=4)
    large = np.tile(z, (200, 1))
    assert DEFENSE(large).tobytes() == threaded(large).tobytes() == DEFENSE(large).tobytes()


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        (np.zeros((2, 6)), "calibrated for 7 classes, got 6"),
        (np.full((2, 7), np.nan), "row 0 holds NaN"),
        (np.zeros((2, 7), int), "dtype int64"),
        (np.full((1, 7), -np.inf), "row 0"),
    ],
)
@pytest.mark.parametrize("defense", [DEFENSE, TWO_BUCKETS], ids=["one", "two"])
def test_logits_without_a_softmax_are_refused(
    defense: RankTemplate, logits: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        defense(logits)


def test_calibration_needs_300_rows() -> None:
    z, y = held_out(299)
    with pytest.raises(ValueError, match="needs at least 300 rows, got 299"):
        RankTemplate.calibrate(z, y)
    with pytest.raises(ValueError, match="held_out_probabilities: row 0"):
        RankTemplate.calibrate_from_probabilities(z, y)


def test_a_reference_makes_a_public_reference_defense() -> None:
    z, y = held_out()

    def public(queries: np.ndarray) -> np.ndarray:
        return np.full((len(queries), 7), 1 / 7)

    defense = RankTemplate.calibrate(z, y, reference=public, queries=z)
    assert isinstance(defense, PublicReference)
    with pytest.raises(ValueError, match="needs queries= and goes with buckets=1"):
        RankTemplate.calibrate(z, y, buckets=2, reference=public, queries=z)
    with pytest.raises(ValueError, match="needs queries="):
        RankTemplate.calibrate(z, y, reference=public, queries=None)


def test_a_model_version_binds_and_changes_no_number() -> None:
    bound, (z, _) = TWO_BUCKETS.with_model_version("v1"), held_out()
    assert (bound.model_version, TWO_BUCKETS.model_version) == ("v1", "")
    assert bound.template == TWO_BUCKETS.template
    assert bound(z).tobytes() == TWO_BUCKETS(z).tobytes()


def test_it_is_a_defense_that_describes_itself() -> None:
    assert isinstance(DEFENSE, Defense)
    assert DEFENSE.describe() == (
        "RankTemplate: label and order of 3 runner-up of 7 classes, calibrated on 400 rows"
    )
    assert TWO_BUCKETS.describe().endswith("calibrated on 400 rows, low margins told apart")
    assert repr(TWO_BUCKETS) == "RankTemplate(ranks=3, buckets=2, classes=7, calibrated_on=400)"
    restored = pickle.loads(pickle.dumps(DEFENSE))
    assert restored.template == DEFENSE.template


def expected_calibration_error(p: np.ndarray, labels: np.ndarray, bins: int = 15) -> float:
    confidence, correct = p.max(axis=1), p.argmax(axis=1) == labels
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    return sum(
        abs(confidence[place == b].mean() - correct[place == b].mean()) * (place == b).mean()
        for b in np.unique(place)
    )


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities and labels of the half of the digits that the model did not see."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    inputs, labels = load_digits(return_X_y=True)
    shuffled = np.random.default_rng(0).permutation(len(labels))
    inputs, labels = inputs[shuffled] / 16, labels[shuffled]
    model = MLPClassifier((64,), max_iter=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(inputs[:898], labels[:898])
    return np.log(model.predict_proba(inputs[898:])), labels[898:]


@pytest.mark.parametrize("buckets", [1, 2])
def test_digits_are_calibrated_on_rows_not_calibrated_on(
    digits: tuple[np.ndarray, np.ndarray], buckets: int
) -> None:
    z, y = digits
    defense = RankTemplate.calibrate(z[:450], y[:450], buckets=buckets)
    p = defense(z[450:])
    assert expected_calibration_error(p, y[450:]) <= 0.03
    assert (p.argmax(axis=1) == z[450:].argmax(axis=1)).all()
