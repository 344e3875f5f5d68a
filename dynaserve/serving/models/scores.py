"""Tell logits from probabilities.

A file rarely says which of the two its output is, and taking one for the other would ruin the
defense silently: a softmax of probabilities is nearly flat, a logarithm of logits is undefined.
So the rules are written down here, and a file that they cannot settle is refused.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses.rows import logits_of
from dynaserve.serving.models.protocol import ModelError

_PROBE_SIZE = 32
_SAYS_PROBABILITIES = re.compile(r"prob|softmax", re.IGNORECASE)
_SAYS_LOG = re.compile(r"log", re.IGNORECASE)


def probe_rows(input_shape: tuple[int | None, ...], dtype: np.dtype[Any], n: int) -> NDArray[Any]:
    """Return ``n`` made-up input rows (n, *input_shape) of ``dtype``, always the same ones.

    A size that the model leaves open is taken as 32.
    """
    shape = (n, *(_PROBE_SIZE if size is None else size for size in input_shape))
    rng = np.random.default_rng(0)
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)


def are_probabilities(scores: NDArray[Any], output: str, model: str) -> bool:
    """Decide whether ``scores`` (n, k), answers to a probe, are probabilities or logits.

    1. Rows that are non-negative and sum to 1 are probabilities, unless the output's name says
       logits: then the two contradict each other.
    2. An output named like probabilities whose rows do not sum to 1 scores labels one by one,
       and so does one whose values all lie in [0, 1]: not a softmax classifier.
    3. Everything else is logits.

    Raises
    ------
    ModelError
        In the contradictory cases of rules 1 and 2.
    """
    says_log = bool(_SAYS_LOG.search(output))
    says_probabilities = bool(_SAYS_PROBABILITIES.search(output)) and not says_log
    if are_distributions(scores):
        if says_log:
            raise ModelError(
                f"{model}: output {output!r} is named like logits but its rows are probabilities; "
                "rename the output, or export the model without its softmax"
            )
        return True
    if says_probabilities or bool(((scores >= 0) & (scores <= 1)).all()):
        raise ModelError(
            f"{model}: the rows of output {output!r} look like independent scores between 0 and 1, "
            "not like logits or probabilities that sum to 1; export the model with one softmax "
            "over all classes, or with its logits (multi-label models cannot be served)"
        )
    return False


def are_distributions(scores: NDArray[Any]) -> bool:
    """Whether each row of ``scores`` (n, k) is one that requests may take for probabilities."""
    try:
        logits_of(scores)
    except ValueError:
        return False
    return True
