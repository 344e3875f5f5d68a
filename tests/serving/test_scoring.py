from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from bentoml.exceptions import BentoMLException
from numpy.typing import NDArray

from dynaserve import DynaNoise
from dynaserve.serving.models import UnscoredError
from dynaserve.serving.scoring import Scorer
from dynaserve.serving.telemetry import counts

ROWS = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
KEY = bytes(range(32))


@dataclass
class Model:
    """Answers with its inputs as logits, after a while."""

    seconds: float = 0.0
    error: Exception | None = None
    name: str = "echo"
    version: str = "1"
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float32))
    input_shape: tuple[int | None, ...] = (3,)
    classes: list[str | int] = field(default_factory=lambda: [0, 1, 2])

    def logits(self, inputs: NDArray[Any]) -> NDArray[Any]:
        time.sleep(self.seconds)
        if self.error:
            raise self.error
        return inputs


def value(metric: Any) -> float:
    (family,) = metric.collect()
    return next(
        sample.value for sample in family.samples if sample.name.endswith(("_total", "_sum"))
    )


def test_it_gives_what_the_defense_makes_of_the_logits() -> None:
    defense = DynaNoise.keyed(key=KEY)
    ran = Scorer(Model(), defense)(ROWS)
    np.testing.assert_array_equal(ran.rows, defense(ROWS, queries=ROWS))


def test_the_time_of_the_model_is_told_apart_from_that_of_the_defense() -> None:
    ran = Scorer(Model(seconds=0.05), DynaNoise.keyed(key=KEY))(ROWS)
    assert ran.model >= 0.05
    assert ran.defense > 0


def test_a_call_is_counted_with_the_rows_that_were_asked_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counts, "LUMP", counts.Lump())
    monkeypatch.setattr(counts, "LUMP_ROWS", 1)
    scorer = Scorer(Model(), DynaNoise.keyed(key=KEY))
    rows, repeated = value(counts.ROWS_OF_CALL), value(counts.REPEATED_ROWS)
    scorer(ROWS)
    scorer(ROWS[:2])
    assert value(counts.ROWS_OF_CALL) - rows == 7
    assert value(counts.REPEATED_ROWS) - repeated == 2


def test_a_model_that_fails_says_nothing_and_one_without_scores_says_which_row() -> None:
    with pytest.raises(BentoMLException) as caught:
        Scorer(Model(error=RuntimeError("4711")), DynaNoise.keyed(key=KEY))(ROWS)
    assert "4711" not in str(caught.value)
    with pytest.raises(UnscoredError, match="row 3"):
        Scorer(Model(error=UnscoredError("row 3")), DynaNoise.keyed(key=KEY))(ROWS)
