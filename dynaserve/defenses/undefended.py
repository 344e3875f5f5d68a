"""No defense, behind the same protocol, so that "none" is a choice that says what it is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

import numpy as np

from dynaserve import _core
from dynaserve.defenses.document import Document, write_document
from dynaserve.defenses.protocol import ArrayT
from dynaserve.defenses.rows import logits_of, unwrap


class Undefended:
    """Plain softmax: every score the model computes is released.

    Examples
    --------
    >>> import numpy as np
    >>> Undefended()(np.array([[0.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """

    KIND = "none"

    @classmethod
    def from_document(cls, document: Document) -> Undefended:
        """Return the defense that a file describes; it has no parameters."""
        document.require_parameters()
        return cls()

    def __call__(self, logits: ArrayT, *, queries: Any = None) -> ArrayT:  # noqa: ARG002
        """Return the softmax of the logits; see `Defense`.

        Raises
        ------
        ValueError
            For logits without a softmax, naming the first such row.
        """
        rows = unwrap(logits)
        # Noise of variance zero: the core's softmax, with the core's checks.
        no_keys = np.zeros((math.prod(rows.values.shape[:-1]), 4), np.uint32)
        return cast("ArrayT", rows.wrap(_core.dynanoise(rows.values, no_keys, 0.0, 0.0, 1.0)))

    def from_probabilities(self, probabilities: ArrayT, *, queries: Any = None) -> ArrayT:
        """Return the probabilities as they are, as float32 that sums to one."""
        return self(logits_of(probabilities), queries=queries)

    def describe(self) -> str:
        """Return one line for people."""
        return "no defense: plain softmax, every score is released"

    def save(self, path: str | Path) -> None:
        """Write a file that says, as plainly, that there is no defense."""
        write_document(path, self.KIND, {})

    def __repr__(self) -> str:
        return "Undefended()"
