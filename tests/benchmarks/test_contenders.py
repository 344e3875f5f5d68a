"""What is timed does its work, on logits that a processor cannot learn by heart."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import contenders
from benchmarks.contenders import ELEMENTS, FORMULA, KERNELS, Contender, random_batches, run

RUNNABLE = [
    contender for contender in (*KERNELS, *FORMULA) if contender.name != "torch_compile"
]  # which takes seconds to compile; `make bench` runs it


@pytest.mark.parametrize("contender", RUNNABLE, ids=lambda contender: contender.name)
def test_every_contender_answers_each_batch_with_probabilities(contender: Contender) -> None:
    batches = random_batches(2, 12)[:3]
    calls = contender.calls(batches)
    assert len(calls) == 3
    answers = [np.asarray(run([call])) for call in calls]
    for answer in answers:
        assert answer.dtype == np.float32
        np.testing.assert_allclose(answer.sum(axis=1), 1, atol=1e-4)
    assert not np.array_equal(answers[0], answers[1])


def test_batches_are_many_and_the_same_in_every_process() -> None:
    assert len(random_batches(64, 1000)) == ELEMENTS // 64_000
    assert len(random_batches(1, 10)) == contenders.BATCHES
    assert len(random_batches(16, 128256)) == 1
    first, second = random_batches(4, 100)[:2]
    assert not np.array_equal(first, second)
    assert np.array_equal(first, random_batches(4, 100)[0])


def test_contenders_have_names_of_their_own() -> None:
    names = [contender.name for contender in (*KERNELS, *FORMULA, *contenders.ART)]
    assert len(set(names)) == len(names)
    assert {contender.name for contender in KERNELS} <= {c.name for c in contenders.present()}
