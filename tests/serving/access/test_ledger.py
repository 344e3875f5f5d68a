from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.serving.access.errors import BudgetError, OverBudgetError, RateError
from dynaserve.serving.access.ledger import (
    Ledger,
    allowed_requests,
    allowed_rows,
    seconds_until,
)
from dynaserve.serving.access.sqlite import SqliteStorage, Window, uri_of
from dynaserve.serving.refused import LaterError, RefusedError
from tests.serving.access.conftest import Clock

CLIENT, OTHER = "a" * 12, "b" * 12
DAY = 86_400


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStorage]:
    store = SqliteStorage(uri_of(tmp_path / "limits.sqlite"), wrap_exceptions=True)
    yield store
    asyncio.run(store.close())


@pytest.fixture
def ledger(store: SqliteStorage) -> Ledger:
    return Ledger(store)


def ask(ledger: Ledger, per_second: float = 2, client: str = CLIENT) -> int:
    """Return 0 if the request passed, else when to come back."""
    try:
        asyncio.run(ledger.take_request(client, per_second))
    except RateError as error:
        return error.seconds
    return 0


def spend(ledger: Ledger, rows: int, per_day: int = 100, client: str = CLIENT) -> int:
    """Return 0 if the rows were taken, else when to come back."""
    try:
        asyncio.run(ledger.take_rows(client, per_day, rows))
    except BudgetError as error:
        return error.seconds
    return 0


@pytest.mark.parametrize(
    ("per_second", "requests", "seconds"),
    [
        (2, 20, 10),
        (0.7, 7, 10),
        (2.3, 23, 10),
        (0.1, 1, 10),
        (0.05, 1, 20),
        (0.3, 3, 10),
        (100, 1000, 10),
        (1 / 3, 3, 9),
        (0.25, 2, 8),
        (1 / 3600, 1, 3600),
        (0.15, 1, 7),
    ],
)
def test_a_rate_is_whole_requests_in_whole_seconds(
    per_second: float, requests: int, seconds: int
) -> None:
    allowance = allowed_requests(per_second)
    assert (allowance.amount, allowance.get_expiry()) == (requests, seconds)


@given(st.floats(1e-6, 1e6))
def test_it_is_never_more_than_was_allowed_and_rarely_much_less(per_second: float) -> None:
    allowance = allowed_requests(per_second)
    held = allowance.amount / allowance.get_expiry()
    assert per_second * 0.5 < held <= per_second * (1 + 1e-8)


def test_a_burst_passes_and_then_the_rate_is_held(ledger: Ledger, clock: Clock) -> None:
    assert [ask(ledger) for _ in range(20)] == [0] * 20
    assert ask(ledger) > 0
    assert ask(ledger, client=OTHER) == 0  # nobody else's
    clock.step(10)
    passed = 0
    for _ in range(1000):  # ten a second, five times as many as may
        clock.step(0.1)
        passed += ask(ledger) == 0
    assert 190 <= passed <= 200


def test_two_requests_a_second_apart_are_never_too_many_at_two_a_second(
    ledger: Ledger, clock: Clock
) -> None:
    for _ in range(200):
        assert ask(ledger) == 0
        clock.step(0.9)


@pytest.mark.parametrize("rows", [1, 7, 50, 100])
def test_who_comes_back_when_told_gets_his_rows_and_not_much_earlier(
    ledger: Ledger, clock: Clock, rows: int
) -> None:
    assert spend(ledger, 100) == 0
    clock.step(1000.25)
    wait = spend(ledger, rows)
    assert wait > 0
    clock.step(wait - 2)
    assert spend(ledger, rows) > 0
    clock.step(2)
    assert spend(ledger, rows) == 0


@given(
    previous=st.integers(0, 50),
    current=st.integers(0, 50),
    age=st.floats(0, 99.9),
    room=st.integers(0, 49),
)
def test_the_wait_is_the_shortest_that_is_long_enough(
    previous: int, current: int, age: float, room: int
) -> None:
    window = Window(-age, 100, previous, current)
    left = window.left(0)
    wait = seconds_until((previous, left, current, left + 100), room, 100)

    def counts(then: float) -> int:
        return window.at(then).weight(then)

    assert 0 <= wait <= 200
    assert counts(wait + 1e-6) <= room
    if wait > 1e-3:
        assert counts(wait - 1e-3) > room


def test_rows_that_do_not_fit_cost_nothing(ledger: Ledger, clock: Clock) -> None:
    assert spend(ledger, 90) == 0
    assert spend(ledger, 20) > 0
    assert spend(ledger, 10) == 0
    assert spend(ledger, 1) > DAY
    assert spend(ledger, 1, client=OTHER) == 0


def test_a_budget_that_was_used_up_comes_back_over_the_next_day(
    ledger: Ledger, clock: Clock
) -> None:
    assert spend(ledger, 100) == 0
    clock.step(DAY + DAY / 2)
    assert [spend(ledger, 51) > 0, spend(ledger, 50)] == [True, 0]


def test_more_rows_than_a_day_has_are_said_to_be(ledger: Ledger) -> None:
    with pytest.raises(OverBudgetError, match="101 rows at once are more than the 100") as error:
        spend(ledger, 101)
    assert (error.value.status, error.value.reason) == (413, "too_large")
    assert not isinstance(error.value, LaterError)


def test_refusals_say_what_and_when(ledger: Ledger, clock: Clock) -> None:
    spend(ledger, 98)
    with pytest.raises(BudgetError, match=r"100 rows a day .* fewer than 3 are left") as budget:
        asyncio.run(ledger.take_rows(CLIENT, 100, 3))
    assert (budget.value.status, budget.value.reason) == (429, "budget")
    ask(ledger, 0.1)
    with pytest.raises(RateError, match=r"at most 0\.1 requests per second") as rate:
        asyncio.run(ledger.take_request(CLIENT, 0.1))
    assert (rate.value.status, rate.value.reason, rate.value.seconds) == (429, "rate", 11)


def test_another_limit_for_a_client_forgets_nothing(ledger: Ledger) -> None:
    assert spend(ledger, 100, per_day=100) == 0
    assert spend(ledger, 50, per_day=120) > 0
    assert spend(ledger, 20, per_day=120) == 0
    assert spend(ledger, 1, per_day=50) > 0
    assert allowed_rows(1).key_for(CLIENT) == allowed_rows(2).key_for(CLIENT)


def test_a_store_that_fails_refuses_everybody_and_is_left_alone_for_a_second(
    store: SqliteStorage,
    ticks: Clock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    tries = 0

    async def fail(*_: Any) -> bool:
        nonlocal tries
        tries += 1
        raise RuntimeError("AUTH hush")

    monkeypatch.setattr(store, "acquire_sliding_window_entry", fail)
    ledger = Ledger(store)
    with caplog.at_level(logging.ERROR):
        for _ in range(48):
            for refused in (ledger.take_request(CLIENT, 2), ledger.take_rows(OTHER, 100, 1)):
                with pytest.raises(LaterError, match="cannot be checked") as error:
                    asyncio.run(refused)
                assert (error.value.status, error.value.seconds) == (503, 1)
                assert error.value.reason == "unavailable"
            ticks.step(0.25)
    assert tries == 12  # in twelve seconds
    assert len(caplog.messages) == 2  # every ten
    assert "RuntimeError" in caplog.text
    assert "hush" not in caplog.text
    monkeypatch.undo()
    assert ask(Ledger(store)) == 0


def test_it_is_back_when_the_store_is(
    ledger: Ledger, store: SqliteStorage, ticks: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    assert spend(ledger, 60) == 0
    path, store.path = store.path, store.path.parent / "none" / "limits.sqlite"
    asyncio.run(store.close())
    path.parent.joinpath("none").write_bytes(b"")
    with pytest.raises(RefusedError, match="cannot be checked"):
        spend(ledger, 1)
    assert "NotADirectoryError" in caplog.text or "FileExistsError" in caplog.text
    store.path = path
    with pytest.raises(RefusedError, match="cannot be checked"):
        spend(ledger, 1)
    ticks.step(1)
    assert [spend(ledger, 40), spend(ledger, 1) > 0] == [0, True]
