"""Which of many fits did not converge, whichever process ran them, and no warning for each.

It changes nothing of what is trained.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from dynaserve.mia.shadows.trainer import EstimatorModel, EstimatorTrainer

_SHORT = "did not converge"


@dataclass(frozen=True)
class FitNotes:
    """A directory with a small file for each fit: processes share nothing else.

    Parameters
    ----------
    directory
        Of this training run alone; made with the first note.
    """

    directory: Path

    def note(self, seed: int, *, converged: bool) -> None:
        """Remember how the fit of a seed ended."""
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / str(seed)).write_text("" if converged else _SHORT)

    def remarks(self) -> tuple[str, ...]:
        """Return one sentence if some fits did not converge, else none."""
        notes = [note.read_text() for note in self.directory.glob("*")]
        if _SHORT not in notes:
            return ()
        return (
            f"{notes.count(_SHORT)} of {len(notes)} shadows did not converge; if the estimator "
            "did, they fit less than it does and the attacks are too weak: fit it anew with a "
            "larger max_iter",
        )


@contextmanager
def fit_notes(training: Path | None) -> Iterator[FitNotes]:
    """Yield the notes of one training run, kept with its directory if it has one.

    Fits that are done are not repeated when training goes on, so nothing else would tell.
    """
    if training is not None:
        yield FitNotes(training / "fits")
        return
    with tempfile.TemporaryDirectory() as directory:
        yield FitNotes(Path(directory))


@dataclass(frozen=True)
class NotedTrainer:
    """Trains as another trainer does, which alone it is compared by, and notes how it went.

    Parameters
    ----------
    trainer
        What trains.
    notes
        Where to note it.
    quiet
        Whether other warnings of a fit are dropped too.
    """

    trainer: EstimatorTrainer
    notes: FitNotes = field(compare=False)
    quiet: bool = field(default=False, compare=False)

    def fit(self, inputs: NDArray[Any], labels: NDArray[Any], seed: int) -> EstimatorModel:
        """Train; warnings that it did not converge become a note."""
        from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - optional

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model = self.trainer.fit(inputs, labels, seed)
        short = [one for one in caught if issubclass(one.category, ConvergenceWarning)]
        self.notes.note(seed, converged=not short)
        for one in caught:
            if one not in short and not self.quiet:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        return model
