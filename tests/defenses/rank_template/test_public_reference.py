from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from dynaserve.defenses import Defense, PublicReference, load_defense

CLASSES = 5


def problem(n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Private logits, labels, and queries that are the public model's own logits."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, n)
    signal = np.eye(CLASSES)[labels]
    private = rng.normal(size=(n, CLASSES)) + 2.5 * signal
    return private, labels, rng.normal(size=(n, CLASSES)) + 1.0 * signal


def public(queries: Any) -> np.ndarray:
    return softmax(np.asarray(queries), axis=-1)


def calibrated(n: int = 600) -> PublicReference:
    z, y, queries = problem(n)
    return PublicReference.calibrate(z, y, reference=public, queries=queries)


def test_the_weights_are_the_maximum_of_the_likelihood() -> None:
    z, y, queries = problem()
    log_r = log_softmax(queries, axis=1)
    is_label = np.eye(CLASSES)[z.argmax(axis=1)]

    def loss(w: np.ndarray) -> float:
        score = log_softmax(w[0] * log_r + w[1] * is_label, axis=1)
        return -score[np.arange(len(y)), y].sum() + 0.01 * (w @ w) / 2

    best = minimize(loss, [1.0, 1.0], tol=1e-10).x
    w0, w1 = calibrated()._weights
    assert (w0, w1) == pytest.approx(tuple(best), abs=1e-4)
    assert w0 > 0
    assert w1 > 0


def test_perfectly_predicted_labels_give_finite_weights() -> None:
    z, _, queries = problem()
    defense = PublicReference.calibrate(z, z.argmax(axis=1), reference=public, queries=queries)
    assert np.isfinite(defense._weights).all()
    assert np.isfinite(defense(z, queries=queries)).all()


def test_the_release_is_its_formula_where_the_label_leads_anyway() -> None:
    defense = PublicReference(public, weights=(1.0, 50.0), classes=CLASSES)
    z, _, queries = problem(50)
    scores = log_softmax(queries, axis=1) + 50.0 * np.eye(CLASSES)[z.argmax(axis=1)]
    np.testing.assert_allclose(defense(z, queries=queries), softmax(scores, axis=1), atol=1e-6)


def test_the_label_is_kept_even_against_a_sure_reference() -> None:
    defense = PublicReference(public, weights=(5.0, 0.1), classes=CLASSES)
    z, _, queries = problem(200)
    p = defense(z, queries=10 * queries)
    assert (p.argmax(axis=1) == z.argmax(axis=1)).all()
    ordered = np.sort(p, axis=1)
    assert (ordered[:, -1] > ordered[:, -2]).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)


def test_nothing_of_the_logits_but_the_label_shows() -> None:
    defense, (z, _, queries) = calibrated(), problem()
    other = np.where(np.eye(CLASSES, dtype=bool)[z.argmax(axis=1)], 9.0, -z)
    other[np.arange(len(z)), z.argmax(axis=1)] = 99.0
    assert defense(z, queries=queries).tobytes() == defense(other, queries=queries).tobytes()


def test_masked_classes_stay_zero_even_if_the_reference_wants_them() -> None:
    defense = calibrated()
    z = np.array([[0.0, -np.inf, 1.0, -np.inf, -np.inf], [3.0] + [-np.inf] * 4])
    p = defense(z, queries=np.array([[0.0, 99.0, 0.0, 0.0, 0.0]] * 2))
    assert (p[np.isneginf(z)] == 0).all()
    assert p.argmax(axis=1).tolist() == [2, 0]


def test_a_reference_with_zeros_is_taken() -> None:
    defense = PublicReference(
        lambda queries: np.eye(CLASSES)[: len(queries)], weights=(1.0, 1.0), classes=CLASSES
    )
    assert np.isfinite(defense(np.zeros((3, CLASSES)), queries=[1, 2, 3])).all()


def test_torch_single_rows_and_probabilities_are_taken() -> None:
    defense, (z, _, queries) = calibrated(), problem(4)
    expected = defense(z, queries=queries)
    p = defense(torch.from_numpy(z), queries=queries)
    assert p.dtype == torch.float32
    np.testing.assert_array_equal(p.numpy(), expected)
    np.testing.assert_array_equal(defense(z[0], queries=queries[0]), expected[0])
    q = softmax(z, axis=1)
    np.testing.assert_array_equal(defense.from_probabilities(q, queries=queries), expected)
    assert defense(z[:0], queries=queries[:0]).shape == (0, CLASSES)


def test_what_is_wrong_is_named() -> None:
    defense, z = calibrated(), np.zeros((2, CLASSES))
    with pytest.raises(ValueError, match="needs queries=, the input that it scores"):
        defense(z)
    with pytest.raises(ValueError, match="calibrated for 5 classes, got 4"):
        defense(z[:, :4], queries=z)
    with pytest.raises(ValueError, match=r"reference: gave shape \(1, 5\) for logits of shape"):
        defense(z, queries=z[:1])
    with pytest.raises(ValueError, match="reference: row 0 holds a sum other than 1"):
        PublicReference(lambda queries: queries, weights=(1, 1), classes=5)(z, queries=z)
    with pytest.raises(ValueError, match="row 1 holds NaN"):
        defense(np.array([[0.0] * 5, [np.nan] * 5]), queries=z)
    with pytest.raises(ValueError, match="needs at least 300 rows"):
        calibrated(299)


@pytest.mark.parametrize("weights", [(1.0,), (1.0, np.inf), (np.nan, 1.0), (1.1e6, 1), (1, -1e300)])
def test_weights_must_be_two_numbers_of_bounded_size(weights: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"two numbers of at most 1e\+06 in size"):
        PublicReference(public, weights=weights, classes=5)
    PublicReference(public, weights=(1.0, 2.0), classes=5).save(tmp_path / "d.toml")
    numbers = ", ".join(str(float(weight)) for weight in weights)
    text = (tmp_path / "d.toml").read_text()
    head, _, tail = text.partition("weights = [")
    (tmp_path / "d.toml").write_text(f"{head}weights = [{numbers}{tail[tail.index(']') :]}")
    with pytest.raises(ValueError, match="two numbers of at most"):
        load_defense(tmp_path / "d.toml", reference=public)


def test_the_largest_weights_give_finite_answers() -> None:
    z, _, queries = problem(20)
    defense = PublicReference(public, weights=(1e6, -1e6), classes=CLASSES)
    assert np.isfinite(defense(z, queries=queries)).all()


@pytest.mark.parametrize("classes", [1, 2.0, True])
def test_classes_must_be_an_integer(classes: Any) -> None:
    with pytest.raises(ValueError, match="classes must be an integer"):
        PublicReference(public, weights=(1.0, 1.0), classes=classes)


def test_it_survives_a_file_given_its_reference_again(tmp_path: Path) -> None:
    defense, (z, _, queries) = calibrated(), problem(10)
    defense.save(tmp_path / "d.toml")
    loaded = load_defense(tmp_path / "d.toml", reference=public)
    assert isinstance(loaded, Defense)
    assert loaded(z, queries=queries).tobytes() == defense(z, queries=queries).tobytes()
    assert repr(loaded) == repr(defense)
    assert loaded.describe().startswith("public reference: the label of 5 classes (weight ")
    with pytest.raises(ValueError, match="needs reference=, the public model"):
        load_defense(tmp_path / "d.toml")
