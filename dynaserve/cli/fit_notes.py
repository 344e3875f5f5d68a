"""Which of many fits did not converge, whichever process ran them, and no warning for each.

It changes nothing of what is trained.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from dynaserve.mia.shadows.trainer import EstimatorModel, EstimatorTrainer


class FitNotes:
    """A directory with an empty file for each fit: processes share nothing else.

    Parameters
    ----------
    directory
        Of this run alone.
    quiet
        Whether other warnings of a fit are dropped too.
    """

    def __init__(self, directory: Path, *, quiet: bool) -> None:
        self._directory, self.quiet = directory, quiet

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - as in scikit-learn
        """Return what tells one training run from another: nothing of this does."""
        return {}

    def note(self, seed: int, *, converged: bool) -> None:
        """Remember how the fit of a seed ended."""
        (self._directory / f"{seed}-{'fine' if converged else 'short'}").touch()

    def remarks(self) -> tuple[str, ...]:
        """Return one sentence if some fits did not converge, else none."""
        fits, short = (len(list(self._directory.glob(kind))) for kind in ("*", "*-short"))
        if not short:
            return ()
        return (
            f"{short} of {fits} shadows did not converge; if the estimator did, they fit less than "
            "it does and the attacks are too weak: fit it anew with a larger max_iter",
        )


@contextmanager
def fit_notes(*, quiet: bool) -> Iterator[FitNotes]:
    """Yield notes for one training run."""
    with tempfile.TemporaryDirectory() as directory:
        yield FitNotes(Path(directory), quiet=quiet)


@dataclass(frozen=True)
class NotedTrainer:
    """Trains as another trainer does and notes how it went."""

    trainer: EstimatorTrainer
    notes: FitNotes

    def fit(self, inputs: NDArray[Any], labels: NDArray[Any], seed: int) -> EstimatorModel:
        """Train; warnings that it did not converge become a note."""
        from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - optional

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model = self.trainer.fit(inputs, labels, seed)
        short = [one for one in caught if issubclass(one.category, ConvergenceWarning)]
        self.notes.note(seed, converged=not short)
        for one in caught:
            if one not in short and not self.notes.quiet:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        return model
