"""What every defense is: a function from logits to the probabilities that may be released."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

ArrayT = TypeVar("ArrayT")
"""A numpy array or a torch tensor; what goes in decides what comes out."""


@runtime_checkable
class Defense(Protocol):
    """Turns logits into defended probabilities.

    Implementations are immutable and thread-safe: one object serves a whole process.
    """

    def __call__(self, logits: ArrayT, *, queries: Any = None) -> ArrayT:
        """Return probabilities, float32, of the shape, kind and device of ``logits`` (..., k).

        ``queries`` holds the model's input for each row: an array whose leading shape is
        that of ``logits`` without its last axis, or a sequence of ``bytes``.
        """
        ...

    def from_probabilities(self, probabilities: ArrayT, *, queries: Any = None) -> ArrayT:
        """Return what ``__call__`` returns for a model that gives probabilities (..., k)."""
        ...

    def describe(self) -> str:
        """Return one line for people: which defense, with which parameters; never a key."""
        ...

    def save(self, path: str | Path) -> None:
        """Write one self-describing TOML file; secrets stay out of it."""
        ...
