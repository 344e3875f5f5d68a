"""scikit-learn classifiers as trainers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dynaserve.mia.shadows import EstimatorTrainer


def rows(classes: int, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = np.arange(n) % classes
    return rng.normal(size=(n, 2, 3)) + labels[:, None, None], labels


@pytest.mark.parametrize("classes", [2, 3])
def test_logits_give_the_estimators_own_probabilities(classes: int) -> None:
    inputs, labels = rows(classes)
    model = EstimatorTrainer(LogisticRegression(), classes).fit(inputs, labels, seed=0)
    logits = model.logits(inputs)
    assert logits.shape == (60, classes)
    assert logits.dtype == np.float32
    own = LogisticRegression().fit(inputs.reshape(60, 6), labels)
    expected = own.predict_proba(inputs.reshape(60, 6))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(p, expected, atol=1e-6)


@pytest.mark.parametrize("estimator", [RidgeClassifier(), SVC(decision_function_shape="ovr")])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_decision_function_serves_as_logits(estimator: object, classes: int) -> None:
    inputs, labels = rows(classes)
    model = EstimatorTrainer(estimator, classes).fit(inputs, labels, seed=0)
    predicted = model.logits(inputs).argmax(axis=1)
    np.testing.assert_array_equal(predicted, model.estimator.predict(inputs.reshape(60, 6)))


def test_the_seed_reaches_every_random_state_and_the_given_estimator_stays_unfitted() -> None:
    inputs, labels = rows(3)
    forest = RandomForestClassifier(5, random_state=99)
    trainer = EstimatorTrainer(make_pipeline(StandardScaler(), forest), 3)
    first, again, other = (trainer.fit(inputs, labels, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.logits(inputs), again.logits(inputs))
    assert not np.array_equal(first.logits(inputs), other.logits(inputs))
    assert first.estimator[-1].random_state == 1
    assert not hasattr(forest, "estimators_")


def test_a_class_absent_from_training_is_the_least_likely_one() -> None:
    inputs, labels = rows(3)
    seen = labels != 1
    model = EstimatorTrainer(LogisticRegression(), 3).fit(inputs[seen], labels[seen], seed=0)
    logits = model.logits(inputs)
    assert logits.shape == (60, 3)
    assert (logits.argmin(axis=1) == 1).all()
    assert np.isfinite(logits).all()


def test_an_estimator_without_scores_is_refused() -> None:
    with pytest.raises(ValueError, match="LinearRegression: has neither predict_proba"):
        EstimatorTrainer(LinearRegression(), 2)


def test_scores_that_are_not_one_per_class_are_refused() -> None:
    inputs, labels = rows(4)
    one_against_one = SVC(decision_function_shape="ovo")
    model = EstimatorTrainer(one_against_one, 4).fit(inputs, labels, seed=0)
    with pytest.raises(ValueError, match="SVC: gives scores"):
        model.logits(inputs)
