"""Answers are checked before anything is timed, and everyone is asked in every round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.clients import Block, Request
from benchmarks.peers import measuring
from benchmarks.peers.measuring import Asked, WrongAnswerError, check, settled

EXPECTED = np.array([[0.25, 0.75], [0.5, 0.5]], np.float32)
DEFENDED = np.array([[0.3, 0.7], [0.45, 0.55]])


def test_a_plain_answer_is_the_models_and_a_defended_one_is_not() -> None:
    check(EXPECTED.astype(np.float64) + 1e-6, EXPECTED, defended=False)
    check(DEFENDED, EXPECTED, defended=True)


@pytest.mark.parametrize(
    ("answer", "defended", "said"),
    [
        (EXPECTED[:1], False, r"shape \(1, 2\) instead of \(2, 2\)"),
        (2 * EXPECTED, False, "do not sum to 1"),
        (DEFENDED, False, "not the model's probabilities"),
        (EXPECTED, True, "the model's own probabilities"),
    ],
)
def test_any_other_answer_is_refused(answer: Any, defended: bool, said: str) -> None:
    with pytest.raises(WrongAnswerError, match=said):
        check(answer, EXPECTED, defended)


def test_every_round_has_two_blocks_of_everyone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {name: Asked(port, Request("/", b"", {}), port) for port, name in enumerate("ab", 1)}
    order: list[int] = []

    def block(one: Asked, clients: int) -> NDArray[np.float64]:
        order.append(one.port)
        return np.full(clients * one.requests, float(len(order)))

    monkeypatch.setattr(measuring, "_block", block)
    rounds = measuring._ask(asked, clients=8, rounds=2)
    assert order == [1, 2, 2, 1, 2, 1, 1, 2]
    assert [len(each) for each in rounds["b"]] == [32, 32]
    assert set(rounds["a"][0]) == {1.0, 4.0}
    assert set(rounds["b"][1]) == {5.0, 8.0}


def test_the_first_request_of_each_client_does_not_count() -> None:
    block = Block(np.array([9.0, 1.0, 2.0, 8.0, 3.0, 4.0]), 10.0)
    assert settled(block, 2).tolist() == [1, 2, 3, 4]
