from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from dynaserve.serving.deadline import Deadline


def in_loop(work: Callable[[Any], Any]) -> Any:
    async def run() -> Any:
        return await asyncio.wait_for(work(asyncio.get_running_loop().time), 20)

    return asyncio.run(run())


def test_work_ends_when_its_time_has_come() -> None:
    async def work(now: Any) -> Any:
        with Deadline(now() + 0.05) as deadline:
            await asyncio.Event().wait()
        return deadline.caught

    assert in_loop(work)


def test_work_that_is_done_in_time_is_left_alone_and_nothing_rings_later() -> None:
    async def work(now: Any) -> Any:
        with Deadline(now() + 0.01) as deadline:
            await asyncio.sleep(0)
        await asyncio.sleep(0.05)
        return deadline.caught

    assert not in_loop(work)


@pytest.mark.parametrize("moves", [1, 3])
def test_a_later_deadline_takes_the_place_of_an_earlier_one(moves: int) -> None:
    async def work(now: Any) -> Any:
        begun = now()
        with Deadline(begun + 0.02) as deadline:
            for move in range(moves):
                deadline.move(begun + 0.1 * (move + 1))
            await asyncio.Event().wait()
        return deadline.caught, now() - begun

    caught, seconds = in_loop(work)
    assert caught
    assert seconds >= 0.1 * moves


def test_an_earlier_deadline_takes_the_place_of_a_later_one() -> None:
    async def work(now: Any) -> Any:
        with Deadline(now() + 60) as deadline:
            deadline.move(now() + 0.01)
            await asyncio.Event().wait()
        return deadline.caught

    assert in_loop(work)


@pytest.mark.parametrize("times", [1, 2])
def test_time_that_stands_still_ends_nothing_until_it_goes_on(times: int) -> None:
    async def work(now: Any) -> Any:
        with Deadline(now() + 0.2) as deadline:
            begun = now()
            for _ in range(times):  # as two sends at once do
                deadline.stop()
            await asyncio.sleep(0.3)  # past the time at which it would have ended
            assert not deadline.caught
            for _ in range(times):
                deadline.resume()
            await asyncio.Event().wait()
        return deadline.caught, now() - begun

    caught, seconds = in_loop(work)
    assert caught
    assert seconds >= 0.3


def alarms(work: Callable[[Any], Any]) -> list[asyncio.TimerHandle]:
    """Return the alarms that deadlines of some work set."""
    found = []

    async def watched(now: Any) -> None:
        loop = asyncio.get_running_loop()
        call_at = loop.call_at

        def noted(when: float, callback: Any, *arguments: Any, **options: Any) -> Any:
            handle = call_at(when, callback, *arguments, **options)
            if isinstance(getattr(callback, "__self__", None), Deadline):
                found.append(handle)
            return handle

        with mock.patch.object(loop, "call_at", noted):
            await work(now)

    in_loop(watched)
    return found


def test_one_alarm_does_for_deadlines_that_become_later() -> None:
    async def work(now: Any) -> None:
        with Deadline(now() + 60) as deadline:
            for later in range(5):
                deadline.move(now() + 60 + later)
            deadline.stop()
            deadline.resume()

    (alarm,) = alarms(work)
    assert alarm.cancelled()


def test_there_is_no_alarm_for_what_has_no_end_or_has_ended() -> None:
    async def work(now: Any) -> None:
        with Deadline(math.inf) as deadline:
            deadline.move(math.inf)
        deadline.move(now() + 60)

    assert alarms(work) == []


def test_no_deadline_at_all_is_one() -> None:
    async def work(now: Any) -> Any:
        with Deadline(math.inf) as deadline:
            await asyncio.sleep(0)
        return deadline.caught

    assert not in_loop(work)


def test_it_can_be_ended_before() -> None:
    async def work(now: Any) -> Any:
        with Deadline(now() + 60) as deadline:
            deadline.cancel()
            await asyncio.Event().wait()
        return deadline.caught

    assert in_loop(work)


def test_what_is_cancelled_from_outside_stays_so() -> None:
    async def work(now: Any) -> Any:
        async def within() -> None:
            with Deadline(now() + 60):
                await asyncio.Event().wait()

        task = asyncio.create_task(within())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return True

    assert in_loop(work)
