"""What a served model is, and the one error that every loader raises.

Nothing here may import a framework: the service and the command line read this module first.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


class ModelError(ValueError):
    """A model that cannot be served; the message says what was wrong and what would be right."""


class UnscoredError(ValueError):
    """Rows for which a model has no finite scores; the message names the first, and no value."""


class ModelWarning(UserWarning):
    """What a library warned about while it read a model, gathered in one line."""


@runtime_checkable
class Model(Protocol):
    """A classifier as the service sees it: rows in, logits out."""

    @property
    def name(self) -> str:
        """What is served, for people."""
        ...

    @property
    def version(self) -> str:
        """Hex digest of what the model file holds; keyed noise depends on it."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Inputs are cast to it before anything else, and hashed after that."""
        ...

    @property
    def input_shape(self) -> tuple[int | None, ...]:
        """Shape of one row, such as ``(64,)``; ``None`` where any size will do."""
        ...

    @property
    def classes(self) -> list[str | int]:
        """JSON-able label of each column of the logits."""
        ...

    def logits(self, inputs: NDArray[Any]) -> NDArray[Any]:
        """Return logits (n, k), float, for inputs (n, *input_shape).

        Raises
        ------
        UnscoredError
            For finite inputs that are too large for the model's arithmetic.
        """
        ...
