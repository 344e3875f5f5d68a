from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dynaserve.serving.refused import BusyError, LateError, RefusedError
from dynaserve.serving.stoppable import GoneError, Workbench


async def never() -> None:
    await asyncio.Event().wait()


def run(making: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(making())


def until_stopped(stop: threading.Event) -> str:
    assert stop.wait(20)
    return "half done"


def test_work_is_done_and_its_result_returned() -> None:
    bench = Workbench(1, 20)
    assert run(lambda: bench.do(lambda stop: (stop.is_set(), "done"), never())) == (False, "done")


def test_what_work_raises_is_raised() -> None:
    def fail(_: threading.Event) -> None:
        raise KeyError("a")

    bench = Workbench(1, 20)
    for _ in range(3):  # and its place is free again
        with pytest.raises(KeyError):
            run(lambda: bench.do(fail, never()))


def test_late_work_is_stopped_and_its_result_dropped() -> None:
    bench = Workbench(2, 0.05)
    with pytest.raises(LateError, match=r"not done in 0\.05 seconds") as caught:
        run(lambda: bench.do(until_stopped, never()))
    assert caught.value.status == 504
    assert isinstance(caught.value, RefusedError)
    assert bench.submit(lambda: "free").result(20) == "free"


def test_work_that_nobody_waits_for_is_stopped() -> None:
    bench = Workbench(2, 20)
    with pytest.raises(GoneError):
        run(lambda: bench.do(until_stopped, asyncio.sleep(0.05)))
    assert bench.submit(lambda: "free").result(20) == "free"


def test_work_whose_request_is_cancelled_is_stopped() -> None:
    bench = Workbench(2, 20)

    async def cancel() -> None:
        begun = asyncio.create_task(bench.do(until_stopped, never()))
        await asyncio.sleep(0.05)
        begun.cancel()
        with pytest.raises(asyncio.CancelledError):
            await begun

    run(cancel)
    assert bench.submit(lambda: "free").result(20) == "free"


def test_work_that_waits_is_never_begun_once_it_is_late() -> None:
    bench = Workbench(5, 0.1)
    release, begun = threading.Event(), []

    async def send() -> list[Any]:
        first = bench.do(lambda _: release.wait(20), never())
        second = bench.do(lambda _: begun.append(1), never())
        return await asyncio.gather(first, second, return_exceptions=True)

    assert [type(each) for each in run(send)] == [LateError, LateError]
    release.set()
    bench.submit(lambda: None).result(20)
    assert not begun


def test_more_than_may_wait_is_refused_until_work_has_really_ended() -> None:
    bench = Workbench(2, 0.1)
    release = threading.Event()

    async def send() -> None:
        deaf = [bench.do(lambda _: release.wait(20), never()) for _ in range(2)]
        answers = await asyncio.gather(*deaf, return_exceptions=True)
        assert [type(each) for each in answers] == [LateError] * 2
        # One thread still works on what nobody waits for; the other piece never began.
        late = asyncio.create_task(bench.do(lambda _: None, never()))
        await asyncio.sleep(0)
        with pytest.raises(BusyError, match=r"may \(2\)") as caught:
            await bench.do(lambda _: None, never())
        assert caught.value.status == 429
        assert caught.value.seconds == 1
        release.set()
        assert await late is None
        assert await bench.do(lambda _: 5, never()) == 5

    run(send)


def test_the_time_to_come_back_follows_the_queue_and_the_pace() -> None:
    bench = Workbench(3, 60)
    release = threading.Event()

    async def send() -> int:
        bench._last = 7.5  # what the latest piece took
        waiting = [
            asyncio.create_task(bench.do(lambda _: release.wait(20), never())) for _ in "abc"
        ]
        await asyncio.sleep(0.01)
        with pytest.raises(BusyError) as caught:
            await bench.do(lambda _: None, never())
        release.set()
        await asyncio.gather(*waiting)
        return caught.value.seconds

    assert run(send) == 23  # three pieces of 7.5 s
