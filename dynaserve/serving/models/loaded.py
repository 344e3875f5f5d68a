"""The one concrete model: what every loader builds, once its scores passed a probe.

Loaders say how to get scores; shape checks and logits are decided here, in one place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses.rows import logits_of
from dynaserve.serving.models.protocol import ModelError, UnscoredError
from dynaserve.serving.models.scores import are_probabilities, probe_rows

Scores = Callable[[NDArray[Any]], NDArray[Any]]
"""Inputs (n, *input_shape) of the model's dtype to scores (n, k)."""


@dataclass(frozen=True)
class LoadedModel:
    """A model read from a file; see ``Model`` for its attributes."""

    name: str
    version: str
    dtype: np.dtype[Any]
    input_shape: tuple[int | None, ...]
    classes: list[str | int]
    gives_probabilities: bool
    scores: Scores = field(repr=False)

    def logits(self, inputs: NDArray[Any]) -> NDArray[Any]:
        """Return logits (n, k), float, for inputs (n, *input_shape); see ``Model``."""
        with np.errstate(all="ignore"):  # what overflows is an error below, not a warning
            scores = self.scores(np.ascontiguousarray(inputs, dtype=self.dtype))
        # NaN or +inf if any score is; -inf, which is a mask, only if all are.
        unscored = ~np.isfinite(scores.max(axis=1))
        if unscored.any():
            raise UnscoredError(
                f"row {int(unscored.argmax())} has no finite scores; send smaller numbers"
            )
        return logits_of(scores) if self.gives_probabilities else scores


def run_probe(
    scores: Scores, *, name: str, dtype: np.dtype[Any], input_shape: tuple[int | None, ...]
) -> NDArray[Any]:
    """Return what the model answers to three made-up rows, checked for its shape, (3, k).

    Raises
    ------
    ModelError
        If the model fails on them, has a fixed batch size, fewer than two classes, or
        answers with something other than one row of finite numbers each.
    """
    answers = []
    for n in (3, 2):
        try:
            answer = np.asarray(scores(probe_rows(input_shape, dtype, n)))
        except Exception as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
            raise ModelError(
                f"{name} fails on {n} rows of shape {input_shape} ({dtype}), so it takes either "
                f"other rows or a fixed number of them: {reason}"
            ) from error
        if answer.ndim != 2 or answer.shape[1] < 2 or answer.dtype.kind != "f":
            raise ModelError(
                f"{name} answers {n} rows with {answer.dtype} of shape {answer.shape}; a "
                f"classifier answers with floats of shape ({n}, k), for k >= 2 classes"
            )
        if answer.shape[0] != n:
            raise ModelError(
                f"{name} answers {n} rows with {answer.shape[0]}: its batch size is fixed; "
                "export it with a dynamic first dimension"
            )
        answers.append(answer)
    if np.isnan(answers[0]).any():
        raise ModelError(f"{name} answers made-up rows with NaN")
    return answers[0]


def from_scores(
    scores: Scores,
    *,
    name: str,
    version: str,
    dtype: np.dtype[Any],
    input_shape: tuple[int | None, ...],
    output: str = "output",
    classes: list[str | int] | None = None,
) -> LoadedModel:
    """Build a model from a function whose output kind is not known beforehand.

    ``output`` is the name that the file gives to it; ``classes`` default to 0, 1, 2...

    Raises
    ------
    ModelError
        If the probe fails or leaves open whether the scores are probabilities.
    """
    answer = run_probe(scores, name=name, dtype=dtype, input_shape=input_shape)
    return LoadedModel(
        name=name,
        version=version,
        dtype=dtype,
        input_shape=input_shape,
        classes=list(range(answer.shape[1])) if classes is None else classes,
        gives_probabilities=are_probabilities(answer, output, name),
        scores=scores,
    )
