"""SELENA: who is left out of what, what the student is taught, and the gap that is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dynaserve.mia.peers.selena import Selena, exclusions
from dynaserve.mia.shadows.networks import NetworkTrainer, Schedule


def test_each_row_is_left_out_of_exactly_l_of_k() -> None:
    left_out = exclusions(1000, 25, 10, seed=0)
    assert left_out.shape == (1000, 25)
    assert (left_out.sum(axis=1) == 10).all()
    assert left_out.mean(axis=0) == pytest.approx(np.full(25, 0.4), abs=0.06)
    assert not np.array_equal(left_out, exclusions(1000, 25, 10, seed=1))


@pytest.mark.parametrize("excluded", [0, 5, 6])
def test_no_row_may_be_in_all_or_none(excluded: int) -> None:
    trainer = NetworkTrainer(lambda: None, Schedule(1))  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueError, match=r"must lie in 1\.\.4"):
        Selena(trainer, Schedule(1), sub_models=5, excluded=excluded)


@dataclass(frozen=True)
class Fixed:
    logits_of_all: np.ndarray

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        return np.repeat(self.logits_of_all[None], len(inputs), axis=0)


class Recording(NetworkTrainer):
    """Sub-models answer by their number; what the student is taught is written down."""

    def fit(self, inputs: np.ndarray, labels: np.ndarray, seed: int) -> Any:  # noqa: ARG002
        FITS.append((inputs[:, 0], labels))
        number = len(FITS) - 1
        return Fixed(np.log(np.array([number + 1.0, 10.0])))


FITS: list[tuple[np.ndarray, np.ndarray]] = []


def test_the_student_is_taught_the_mean_of_those_that_did_not_see_the_row() -> None:
    FITS.clear()
    rows = np.arange(30, dtype=np.float32)[:, None]
    trainer = Selena(
        Recording(lambda: None, Schedule(1)),  # type: ignore[arg-type, return-value]
        Schedule(1),
        sub_models=5,
        excluded=2,
    )
    trainer.fit(rows, np.zeros(30, int), seed=0)
    *sub_models, (student_rows, taught) = FITS
    assert len(sub_models) == 5
    np.testing.assert_array_equal(student_rows, rows[:, 0])
    p = np.array([(number + 1) / (number + 11) for number in range(5)])
    for row in range(30):
        unseen = [number for number, (seen, _) in enumerate(sub_models) if row not in seen]
        assert len(unseen) == 2
        np.testing.assert_allclose(taught[row], [p[unseen].mean(), 1 - p[unseen].mean()], rtol=1e-5)


def test_members_are_told_apart_less_than_without(task: Any) -> None:
    in_, out = task.gap(task.plain)
    selena = Selena(task.plain, task.plain.schedule, sub_models=6, excluded=3)
    in_distilled, out_distilled = task.gap(selena)  # type: ignore[arg-type]
    assert in_distilled - out_distilled < (in_ - out) / 2
    assert out_distilled > out - 0.1
