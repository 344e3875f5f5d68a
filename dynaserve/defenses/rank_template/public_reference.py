"""Scores from a public model, the label from the private one.

For users who have a model trained only on public data: the private model adds its label, and
nothing else, to what anyone could compute. That holds only as long as the reference has never
seen the private training data; nothing here can check it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses.document import Document, write_document
from dynaserve.defenses.protocol import ArrayT
from dynaserve.defenses.rank_template.calibrate import HeldOut
from dynaserve.defenses.rows import logits_of, require_logits, unwrap

Reference: TypeAlias = Callable[[Any], Any]
"""Queries, as the defense gets them, to probabilities of the shape of the logits (..., K)."""

_SMALLEST = 1e-6
_LEAD = 0.01
_PRIOR_PRECISION = 0.01
_LARGEST_WEIGHT = 1e6
_NEWTON_STEPS = 50


class PublicReference:
    """``p`` proportional to ``exp(w0 log r(y|x) + w1 [y = c])``, with c strictly on top.

    Parameters
    ----------
    reference
        The public model. Its probabilities are raised to at least 1e-6 before the logarithm.
    weights
        w0 and w1, each at most 1e6 in size.
    classes
        K.

    Examples
    --------
    >>> import numpy as np
    >>> public = lambda queries: np.full((len(queries), 3), 1 / 3)
    >>> defense = PublicReference(public, weights=(1.0, 2.0), classes=3)
    >>> defense(np.array([[0.0, 5.0, 1.0]]), queries=["any"]).round(3).tolist()
    [[0.10700000077486038, 0.7870000004768372, 0.10700000077486038]]
    """

    KIND = "public-reference"

    def __init__(self, reference: Reference, *, weights: tuple[float, float], classes: int) -> None:
        if len(weights) != 2 or not all(abs(w) <= _LARGEST_WEIGHT for w in weights):
            raise ValueError(
                "public reference: weights must be two numbers of at most "
                f"{_LARGEST_WEIGHT:g} in size"
            )
        if type(classes) is not int or classes < 2:
            raise ValueError("public reference: classes must be an integer of at least 2")
        self._reference = reference
        self._weights = (float(weights[0]), float(weights[1]))
        self._classes = classes

    @classmethod
    def calibrate(
        cls, held_out_logits: Any, held_out_labels: Any, *, reference: Reference, queries: Any
    ) -> PublicReference:
        """Fit w0 and w1 by maximum likelihood on held-out rows.

        A gaussian prior of standard deviation 10 keeps them finite where the labels are
        perfectly predicted.

        Raises
        ------
        ValueError
            As `RankTemplate.calibrate`, and for a reference of another shape.
        """
        held_out = HeldOut.checked(held_out_logits, held_out_labels)
        features = _features(held_out.logits, _ask(reference, queries, held_out.logits.shape))
        weights = _fit(features, held_out.labels)
        return cls(reference, weights=weights, classes=held_out.logits.shape[1])

    @classmethod
    def from_document(
        cls, document: Document, *, reference: Reference | None = None
    ) -> PublicReference:
        """Return the defense that a file describes; code cannot be saved, so pass it again."""
        document.require_parameters("weights", "classes")
        if reference is None:
            raise ValueError(f"kind {cls.KIND!r} needs reference=, the public model")
        weights = document.parameters["weights"]
        if not (isinstance(weights, list) and all(type(w) is float for w in weights)):
            raise ValueError("weights must be two numbers")
        return cls(reference, weights=tuple(weights), classes=document.parameters["classes"])

    def __call__(self, logits: ArrayT, *, queries: Any = None) -> ArrayT:
        """Return probabilities that depend on the label and the reference alone.

        Raises
        ------
        ValueError
            Without queries, for another number of classes, or naming the first bad row.
        """
        if queries is None:
            raise ValueError("public reference: needs queries=, the input that it scores itself")
        rows = unwrap(logits)
        require_logits(rows.values)
        if rows.values.shape[-1] != self._classes:
            raise ValueError(
                f"public reference: calibrated for {self._classes} classes, "
                f"got {rows.values.shape[-1]}"
            )
        answers = _ask(self._reference, queries, rows.values.shape)
        return cast("ArrayT", rows.wrap(self._release(rows.values, answers)))

    def from_probabilities(self, probabilities: ArrayT, *, queries: Any = None) -> ArrayT:
        """Return what ``__call__`` returns for a model that gives probabilities."""
        return self(logits_of(probabilities), queries=queries)

    def describe(self) -> str:
        """Return one line for people."""
        w0, w1 = self._weights
        return (
            f"public reference: the label of {self._classes} classes (weight {w1:.3g}) and the "
            f"scores of a public model (weight {w0:.3g})"
        )

    def save(self, path: str | Path) -> None:
        """Write the weights; `load_defense` needs the reference itself again."""
        parameters = {"weights": list(self._weights), "classes": self._classes}
        write_document(path, self.KIND, parameters)

    def __repr__(self) -> str:
        return f"PublicReference(weights={self._weights}, classes={self._classes})"

    def _release(self, logits: NDArray[Any], answers: NDArray[np.float64]) -> NDArray[np.float32]:
        score = _features(logits, answers) @ np.array(self._weights)
        score[np.isneginf(logits)] = -np.inf
        label = logits.argmax(axis=-1)[..., None]
        own = np.take_along_axis(score, label, axis=-1)
        np.put_along_axis(score, label, -np.inf, axis=-1)
        best_other = score.max(axis=-1, keepdims=True)
        np.put_along_axis(score, label, np.maximum(own, best_other + _LEAD), axis=-1)
        p = np.exp(score - score.max(axis=-1, keepdims=True))
        return np.asarray(p / p.sum(axis=-1, keepdims=True), dtype=np.float32)


def _ask(reference: Reference, queries: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    answers = unwrap(logits_of(reference(queries), "reference")).values
    if answers.shape != shape:
        raise ValueError(f"reference: gave shape {answers.shape} for logits of shape {shape}")
    return np.maximum(answers.astype(np.float64), np.log(_SMALLEST))


def _features(logits: NDArray[Any], answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log r(y|x) and [y = c] for each class, (..., K, 2)."""
    is_label = np.zeros_like(answers)
    np.put_along_axis(is_label, logits.argmax(axis=-1)[..., None], 1.0, axis=-1)
    return np.stack([answers, is_label], axis=-1)


def _fit(features: NDArray[np.float64], labels: NDArray[np.int64]) -> tuple[float, float]:
    """Maximize the penalized log-likelihood, which is concave, by Newton steps that never fall."""
    rows = np.arange(len(labels))
    weights, ridge = np.zeros(2), _PRIOR_PRECISION * np.eye(2)

    def objective(w: NDArray[np.float64]) -> float:
        score = features @ w
        top = score.max(axis=1)
        log_total = top + np.log(np.exp(score - top[:, None]).sum(axis=1))
        return float((score[rows, labels] - log_total).sum() - w @ ridge @ w / 2)

    for _ in range(_NEWTON_STEPS):
        score = features @ weights
        p = np.exp(score - score.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mean = np.einsum("nk,nkf->nf", p, features)
        gradient = (features[rows, labels] - mean).sum(axis=0) - ridge @ weights
        second = np.einsum("nk,nkf,nkg->fg", p, features, features) - mean.T @ mean + ridge
        step = np.linalg.solve(second, gradient)
        while objective(weights + step) < objective(weights) and np.abs(step).max() > 1e-12:
            step /= 2
        weights = weights + step
        if np.abs(step).max() < 1e-9:
            break
    return float(weights[0]), float(weights[1])
