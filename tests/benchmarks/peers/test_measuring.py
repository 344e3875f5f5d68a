"""Answers are checked before anything is timed, and everyone is asked in every round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.clients import Block, Request
from benchmarks.load_wrk import ERRORS, Load
from benchmarks.peers import measuring
from benchmarks.peers.__main__ import EFFORTS, SMOKE
from benchmarks.peers.measuring import Asked, Effort, WrongAnswerError, check

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
    asked = {name: Asked(port, Request("/", b"", {}), port, 1) for port, name in enumerate("ab", 1)}
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


ONE = Asked(1, Request("/", b"", {}), 2, 3)


def test_the_first_request_of_a_lone_client_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    class Client:
        def __init__(self, *asked: object) -> None:
            assert asked == (ONE.port, ONE.request, 1)

        def block(self, requests: int) -> Block:
            return Block(np.arange(requests, dtype=float), 10.0)

        def close(self) -> None:
            pass

    monkeypatch.setattr(measuring, "Clients", Client)
    assert measuring._block(ONE, 1).tolist() == [1, 2]


def test_several_clients_are_those_of_wrk_and_may_not_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    errors, answers = dict.fromkeys(ERRORS, 0), 8
    latencies = np.array([1.0, 2.0])

    def load(port: int, request: Request, *, connections: int, seconds: int) -> Load:
        assert (port, request, connections, seconds) == (ONE.port, ONE.request, 8, ONE.seconds)
        return Load(answers, 3.0, latencies, errors)

    monkeypatch.setattr(measuring, "load", load)
    assert measuring._block(ONE, 8) is latencies
    answers = 7
    with pytest.raises(RuntimeError, match="7 answers in 3 s for 8 clients"):
        measuring._block(ONE, 8)
    errors["status"] = 1
    with pytest.raises(RuntimeError, match="'status': 1"):
        measuring._block(ONE, 8)


@pytest.mark.parametrize("effort", [SMOKE, *EFFORTS.values()])
def test_every_effort_has_rounds_to_compare(effort: Effort) -> None:
    assert effort.launches * min(effort.rounds, effort.loaded) >= 2
