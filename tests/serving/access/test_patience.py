from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dynaserve.serving.access import patience as module
from dynaserve.serving.access.patience import ImpatientError, Patience
from tests.serving.access.conftest import Clock


class Store:
    """Answers when a test says so."""

    def __init__(self) -> None:
        self.asked = 0
        self.answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def __call__(self) -> int:
        self.asked += 1
        return await asyncio.shield(self.answer)


async def now(value: int = 1) -> int:
    return value


async def broken() -> int:
    raise OSError("away")


async def many(patience: Patience, ask: Callable[[], Awaitable[int]], count: int) -> list[Any]:
    """Have so many ask at once, and go on when those are done that need not wait."""
    asking = [asyncio.ensure_future(patience(ask)) for _ in range(count)]
    for _ in range(5):
        await asyncio.sleep(0)
    return asking


def test_what_the_store_says_is_passed_on() -> None:
    async def run() -> tuple[int, int]:
        patience = Patience()
        return await patience(now), patience.waiting

    assert asyncio.run(run()) == (1, 0)


def test_so_many_wait_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 3)

    async def run() -> None:
        patience, store = Patience(), Store()
        asking = await many(patience, store, 5)
        assert [task.done() for task in asking] == [False] * 3 + [True] * 2
        assert {type(task.exception()) for task in asking[3:]} == {ImpatientError}
        store.answer.set_result(7)
        assert [await task for task in asking[:3]] == [7] * 3
        assert (store.asked, patience.waiting) == (3, 0)
        assert await patience(now) == 1

    asyncio.run(run())


def test_nobody_waits_longer_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ASK_SECONDS", 0.02)

    async def run() -> None:
        patience, store = Patience(), Store()
        for task in await many(patience, store, 3):
            with pytest.raises((TimeoutError, asyncio.TimeoutError)):
                await task
        assert patience.waiting == 0
        with pytest.raises(ImpatientError):
            await patience(now)

    asyncio.run(run())


def test_many_at_once_are_no_failure_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 2)
    monkeypatch.setattr(module, "TURN_SECONDS", 0.05)

    async def run() -> None:
        patience, store = Patience(), Store()
        asking = await many(patience, store, 6)
        assert store.asked == 2
        for task in asking[2:]:  # whose turn does not come in time
            with pytest.raises(ImpatientError):
                await task
        store.answer.set_result(7)
        assert [await task for task in asking[:2]] == [7, 7]
        assert [await task for task in await many(patience, store, 6)] == [7] * 6
        assert patience.waiting == 0

    asyncio.run(run())


def test_who_waits_for_a_turn_when_the_store_fails_does_not_ask(ticks: Clock) -> None:
    async def run() -> None:
        patience = Patience()
        release = asyncio.Event()
        asked = []

        async def fails() -> int:
            asked.append(1)
            await release.wait()
            raise OSError("away")

        asking = await many(patience, fails, module.AT_ONCE + 3)
        release.set()
        found = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(each) for each in found] == [OSError] * module.AT_ONCE + [ImpatientError] * 3
        assert len(asked) == module.AT_ONCE

    asyncio.run(run())


def test_after_a_failure_one_asks_alone_and_all_again_once_it_has_an_answer(ticks: Clock) -> None:
    async def run() -> None:
        patience, store = Patience(), Store()
        with pytest.raises(OSError, match="away"):
            await patience(broken)
        ticks.step(0.9)
        assert [type(each.exception()) for each in await many(patience, store, 4)] == [
            ImpatientError
        ] * 4
        ticks.step(0.2)
        probe, *others = await many(patience, store, 4)
        assert {type(each.exception()) for each in others} == {ImpatientError}
        assert store.asked == 1
        store.answer.set_result(7)
        assert await probe == 7
        assert [await each for each in await many(patience, store, 4)] == [7] * 4

    asyncio.run(run())


def test_a_request_that_leaves_is_no_failure() -> None:
    async def run() -> None:
        patience, store = Patience(), Store()
        (waiting,) = await many(patience, store, 1)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert patience.waiting == 0
        assert await patience(now) == 1

    asyncio.run(run())
