"""What trains a model for the audit, and the trainer of scikit-learn classifiers.

A trainer is a value: the same inputs, labels and seed give the same model. It holds no state
between fits, so that shadows can be trained in any order, in any process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses.rows import logits_of

_ABSENT = 20.0
"""How far a class that a model has never seen lies below the least likely one it has."""


class Model(Protocol):
    """A trained classifier."""

    def logits(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return logits (n, k) of inputs (n, ...); any shift of a row is fine."""
        ...


class Trainer(Protocol):
    """Makes models, reproducibly."""

    def fit(self, inputs: NDArray[Any], labels: NDArray[Any], seed: int) -> Model:
        """Train on inputs (n, ...) with labels (n,) in 0..k-1."""
        ...


@dataclass(frozen=True)
class EstimatorModel:
    """A fitted scikit-learn classifier behind `Model`; rows of inputs are flattened for it."""

    estimator: Any
    classes: int

    def logits(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the logarithm of its probabilities or, if it has none, its decision function.

        A class that was absent from training is put below the least likely one of the row.
        """
        rows = inputs.reshape(len(inputs), -1)
        if hasattr(self.estimator, "predict_proba"):
            known = logits_of(np.asarray(self.estimator.predict_proba(rows), np.float64))
        else:
            known = np.asarray(self.estimator.decision_function(rows))
            if known.ndim == 1:
                known = np.stack([np.zeros_like(known), known], axis=1)
        columns = np.asarray(self.estimator.classes_, int)
        if known.shape != (len(rows), len(columns)):
            raise ValueError(
                f"{type(self.estimator).__name__}: gives scores {known.shape[1:]} for "
                f"{len(columns)} classes; one score per class is needed"
            )
        absent = known.min(axis=1, keepdims=True) - _ABSENT
        logits = np.repeat(absent, self.classes, axis=1).astype(np.float32)
        logits[:, columns] = known
        return logits


@dataclass(frozen=True)
class EstimatorTrainer:
    """Trains clones of any scikit-learn classifier with predict_proba or decision_function.

    Parameters
    ----------
    estimator
        Unfitted or fitted; only its parameters are used. Every ``random_state`` in it, also
        inside a pipeline, is set from the seed of the fit.
    classes
        k; labels are integers in 0..k-1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> inputs, labels = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
    >>> model = EstimatorTrainer(GaussianNB(), classes=2).fit(inputs, labels, seed=0)
    >>> model.logits(inputs).argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """

    estimator: Any
    classes: int

    def __post_init__(self) -> None:
        if not any(
            hasattr(self.estimator, name) for name in ("predict_proba", "decision_function")
        ):
            raise ValueError(
                f"{type(self.estimator).__name__}: has neither predict_proba nor "
                "decision_function; an audit needs scores"
            )

    def fit(self, inputs: NDArray[Any], labels: NDArray[Any], seed: int) -> EstimatorModel:
        """Train a clone on the flattened rows."""
        from sklearn.base import clone  # noqa: PLC0415 - optional

        estimator = clone(self.estimator)
        states = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
        estimator.set_params(**dict.fromkeys(states, seed))
        estimator.fit(inputs.reshape(len(inputs), -1), labels)
        return EstimatorModel(estimator, self.classes)
