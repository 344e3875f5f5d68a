"""Who is called when; no test looks at how long it took."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from benchmarks import interleaved
from benchmarks.interleaved import time_rounds


class Recorder:
    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def calls(self, name: str, batches: int) -> list[Any]:
        return [(self.seen.append, ((name, batch),)) for batch in range(batches)]


def one_call_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interleaved, "BLOCK_SECONDS", 0.0)


def test_contenders_alternate_and_every_second_round_is_reversed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one_call_at_a_time(monkeypatch)
    recorder = Recorder()
    contenders = {name: recorder.calls(name, 1) for name in "abc"}
    taken = time_rounds(contenders, seconds=0, at_least=3)
    after_warm_up = "".join(name for name, _ in recorder.seen)[3:]
    assert after_warm_up == "abccbaabc"
    assert {name: len(rounds) for name, rounds in taken.items()} == dict.fromkeys("abc", 3)


def test_all_contenders_of_a_round_get_the_same_batch_and_every_batch_has_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one_call_at_a_time(monkeypatch)
    recorder = Recorder()
    time_rounds({name: recorder.calls(name, 3) for name in "ab"}, seconds=0, at_least=4)
    batches = [batch for _, batch in recorder.seen[6:]]
    assert batches == [0, 0, 1, 1, 2, 2, 0, 0]


def test_the_garbage_collector_waits_and_comes_back() -> None:
    during = []
    time_rounds({"a": [(lambda: during.append(gc.isenabled()), ())]}, seconds=0, at_least=1)
    assert during
    assert not any(during)
    assert gc.isenabled()
