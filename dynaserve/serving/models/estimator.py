"""Serve a fitted scikit-learn classifier, wherever it was read from.

The skops and pickle loaders share it. It may not read files.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.serving.models.imports import require
from dynaserve.serving.models.loaded import LoadedModel, Scores, run_probe
from dynaserve.serving.models.protocol import ModelError
from dynaserve.serving.models.scores import are_distributions


def serve_estimator(estimator: Any, *, name: str, version: str) -> LoadedModel:
    """Wrap a fitted single-label classifier.

    ``predict_proba`` is preferred, its logarithm being the logits; without it the values of
    ``decision_function`` are.

    Raises
    ------
    ModelError
        If it is no fitted classifier of one label over numeric rows.
    """
    width, labels = _describe(estimator, name)
    gives_probabilities = hasattr(estimator, "predict_proba")
    scores = _probability_scores(estimator) if gives_probabilities else _decision_scores(estimator)
    dtype = np.dtype(np.float32 if _casts_to_float32(estimator) else np.float64)
    if hasattr(estimator, "feature_names_in_"):
        # fitted on a data frame: scikit-learn would warn at each request that rows have no names
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
    answer = run_probe(scores, name=name, dtype=dtype, input_shape=(width,))
    if answer.shape[1] != len(labels):
        raise ModelError(
            f"{name} has {len(labels)} classes but {answer.shape[1]} scores a row; use "
            "decision_function_shape='ovr' or a model with predict_proba"
        )
    if gives_probabilities and not are_distributions(answer):
        raise ModelError(
            f"{name} is a multi-label classifier: its probabilities do not sum to 1; "
            "a defense needs one label for each row"
        )
    return LoadedModel(
        name=name,
        version=version,
        dtype=dtype,
        input_shape=(width,),
        classes=labels,
        gives_probabilities=gives_probabilities,
        scores=scores,
    )


def _describe(estimator: Any, name: str) -> tuple[int, list[str | int]]:
    """Return the number of features and the labels, or say why it cannot be served."""
    base = require("sklearn.base", extra="serve")
    kind = type(estimator).__name__
    if not isinstance(estimator, base.BaseEstimator):
        raise ModelError(f"{name} holds a {kind}, not a scikit-learn estimator")
    if not base.is_classifier(estimator):
        raise ModelError(f"{name} holds a {kind}, which is not a classifier")
    if not (hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")):
        raise ModelError(
            f"{name} holds a {kind} without predict_proba or decision_function: it gives labels "
            "alone, which no score defense can change"
        )
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        raise ModelError(f"{name} holds a {kind} that is not fitted")
    if isinstance(classes, list) or np.ndim(classes) != 1:
        raise ModelError(f"{name} holds a multi-output {kind}; a defense needs one label a row")
    width = getattr(estimator, "n_features_in_", None)
    if width is None:
        raise ModelError(f"{name} holds a {kind} that does not take rows of numbers")
    return int(width), [_jsonable(label) for label in classes]


def _jsonable(label: Any) -> str | int:
    """Return a class label as JSON holds it: integers stay, whole floats become integers."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else str(value)


def _probability_scores(estimator: Any) -> Scores:
    def scores(inputs: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(estimator.predict_proba(inputs))

    return scores


def _decision_scores(estimator: Any) -> Scores:
    """Two-class models give one margin per row; its softmax pair is (0, margin)."""

    def scores(inputs: NDArray[Any]) -> NDArray[Any]:
        margins = np.asarray(estimator.decision_function(inputs), dtype=np.float64)
        return np.stack([np.zeros_like(margins), margins], axis=1) if margins.ndim == 1 else margins

    return scores


def _casts_to_float32(estimator: Any) -> bool:
    """Whether the estimator rounds its inputs to float32 before it looks at them.

    The identity of a query is hashed after the cast to the model's dtype: two float64 rows that
    such a model cannot tell apart must not get two different noises.
    """
    tree = require("sklearn.tree", extra="serve")
    ensemble = require("sklearn.ensemble", extra="serve")
    estimator = getattr(estimator, "best_estimator_", estimator)
    if isinstance(
        estimator,
        (
            tree.DecisionTreeClassifier,
            ensemble.RandomForestClassifier,
            ensemble.ExtraTreesClassifier,
            ensemble.GradientBoostingClassifier,
        ),
    ):
        return True
    passes_inputs_on = (
        ensemble.AdaBoostClassifier,
        ensemble.BaggingClassifier,
        ensemble.VotingClassifier,
    )
    return isinstance(estimator, passes_inputs_on) and all(
        _casts_to_float32(member) for member in estimator.estimators_
    )
