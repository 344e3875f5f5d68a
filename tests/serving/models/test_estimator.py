from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from dynaserve.serving.models import Model, ModelError, UnscoredError
from dynaserve.serving.models.estimator import serve_estimator


def serve(estimator):
    return serve_estimator(estimator, name="m.skops", version="v1")


def softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_logits_are_the_logarithm_of_predict_proba(iris, logistic):
    model = serve(logistic)
    assert isinstance(model, Model)
    assert (model.name, model.version, model.input_shape) == ("m.skops", "v1", (4,))
    assert model.dtype == np.float64
    assert model.classes == [0, 1, 2]
    np.testing.assert_allclose(softmax(model.logits(iris[0])), logistic.predict_proba(iris[0]))


@pytest.mark.parametrize(
    "make", [lambda: KNeighborsClassifier(3), lambda: RandomForestClassifier(5)]
)
def test_a_zero_probability_is_a_small_number_and_no_mask(iris, make):
    logits = serve(make().fit(*iris)).logits(iris[0][:1])
    np.testing.assert_allclose(logits, [[0.0, -87.3365, -87.3365]], atol=1e-3)


@pytest.mark.parametrize("make", [GaussianNB, LogisticRegression, RidgeClassifier])
def test_inputs_that_overflow_the_model_are_an_error_that_names_the_row(iris, make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = make().fit(*iris)
    for name in {"coef_", "var_"} & vars(fitted).keys():
        setattr(fitted, name, getattr(fitted, name) * (1e9 if name == "coef_" else 1e-9))
    model = serve(fitted)
    rows = iris[0][:3].copy()
    rows[1] = 1e308
    with pytest.raises(UnscoredError, match=r"^row 1 has no finite scores; send smaller numbers$"):
        model.logits(rows)


def test_decision_values_serve_as_logits(iris):
    ridge = RidgeClassifier().fit(*iris)
    assert (serve(ridge).logits(iris[0]) == ridge.decision_function(iris[0])).all()


def test_a_binary_margin_becomes_two_columns(iris):
    x, y = iris
    svc = SVC().fit(x[y < 2], y[y < 2])
    logits = serve(svc).logits(x)
    assert logits.shape == (150, 2)
    assert (logits[:, 0] == 0).all()
    assert (logits.argmax(axis=1) == svc.predict(x)).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: DecisionTreeClassifier(max_depth=2),
        lambda: RandomForestClassifier(3),
        lambda: BaggingClassifier(DecisionTreeClassifier(), n_estimators=2),
    ],
)
def test_models_that_round_inputs_to_float32_say_so(iris, make):
    assert serve(make().fit(*iris)).dtype == np.float32


def test_an_ensemble_of_float64_members_keeps_float64(iris):
    assert serve(BaggingClassifier(GaussianNB(), n_estimators=2).fit(*iris)).dtype == np.float64


def test_labels_become_json(iris):
    x, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])
    assert serve(GaussianNB().fit(x, names[y])).classes == list(names)
    assert serve(GaussianNB().fit(x, y.astype(float))).classes == [0, 1, 2]
    assert serve(GaussianNB().fit(x, y > 1)).classes == [0, 1]
    assert all(type(label) is int for label in serve(GaussianNB().fit(x, y > 1)).classes)


def test_a_model_fitted_on_named_columns_answers_without_warning(iris):
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(*iris)
    pipeline[0].feature_names_in_ = np.array(["a", "b", "c", "d"], dtype=object)
    with warnings.catch_warnings():
        model = serve(pipeline)
        assert model.logits(iris[0][:2]).shape == (2, 3)


class LabelsOnly(BaseEstimator):
    _estimator_type = "classifier"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        return tags


def fitted(estimator, **changes):
    """Make a function that fits ``estimator`` on rows and labels, changed first if asked."""

    def make(x, y):
        x = changes.get("x", lambda rows: rows)(x)
        return estimator.fit(x, changes.get("y", lambda labels: labels)(y))

    return make


def given(model):
    """Make a function that ignores the data."""
    return lambda *_data: model


def unsized(x, y):
    model = LogisticRegression(max_iter=1000).fit(x, y)
    del model.n_features_in_
    return model


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (given({"a": 1}), "holds a dict, not a scikit-learn estimator"),
        (fitted(LinearRegression()), "LinearRegression, which is not a classifier"),
        (fitted(KMeans(2, n_init=1)), "KMeans, which is not a classifier"),
        (given(LogisticRegression()), "LogisticRegression that is not fitted"),
        (given(LabelsOnly()), "gives labels alone"),
        (
            fitted(KNeighborsClassifier(), y=lambda y: np.stack([y, y], axis=1)),
            "multi-output KNeighborsClassifier",
        ),
        (
            fitted(MLPClassifier((4,), max_iter=800, tol=1), y=lambda y: np.eye(3)[y] > 0),
            "multi-label classifier",
        ),
        (
            fitted(
                SVC(decision_function_shape="ovo"),
                x=lambda x: np.concatenate([x, x + 9]),
                y=lambda y: np.arange(2 * len(y)) // 75,
            ),
            "4 classes but 6 scores a row",
        ),
        (unsized, "does not take rows of numbers"),
    ],
)
def test_what_cannot_be_served_is_named(iris, make, message):
    with pytest.raises(ModelError, match=message):
        serve(make(*iris))
