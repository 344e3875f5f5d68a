from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dynaserve import DynaNoise
from dynaserve.serving import batching, defended
from dynaserve.serving.batching import QUICK_SECONDS, Batches, Ran
from dynaserve.serving.visit import Visit

Rows = NDArray[Any]


class Model:
    """Doubles rows; holds its first call until told; fails on negative values; notes its calls."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.started = threading.Event()
        self.go = threading.Event()

    def __call__(self, rows: Rows) -> Rows:
        self.calls.append(len(rows))
        self.started.set()
        assert self.go.wait(timeout=60)
        if (rows < 0).any():
            raise ValueError("negative")
        return rows * 2


def timed(run: Callable[[Rows], Rows]) -> Callable[[Rows], Ran]:
    """Return a function as `Batches` takes it, which says that it took long."""
    return lambda rows: Ran(run(rows), model=2.0, defense=1.0)


async def while_busy(model: Model, batches: Batches, *requests: Rows) -> list[Any]:
    """Send requests while a first one holds the model; return their answers or exceptions."""
    first = asyncio.create_task(batches(np.zeros((1, 2))))
    await asyncio.to_thread(model.started.wait, 60)
    tasks = [asyncio.create_task(batches(rows)) for rows in requests]
    await asyncio.sleep(0)
    model.go.set()
    await first
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_rows_that_arrive_while_the_model_is_busy_share_its_next_call() -> None:
    model = Model()
    sent = [np.full((n, 2), float(n)) for n in (1, 2, 3)]
    answers = asyncio.run(while_busy(model, Batches(timed(model), 100), *sent))
    assert model.calls == [1, 6]
    for rows, answer in zip(sent, answers, strict=True):
        np.testing.assert_array_equal(answer, rows * 2)


def test_a_call_takes_no_more_rows_than_allowed_and_keeps_the_order() -> None:
    model = Model()
    asyncio.run(
        while_busy(model, Batches(timed(model), 4), *(np.ones((n, 2)) for n in (2, 2, 1, 9, 1)))
    )
    assert model.calls == [1, 4, 1, 9, 1]


def test_rows_of_different_shapes_are_never_joined() -> None:
    model = Model()
    answers = asyncio.run(
        while_busy(model, Batches(timed(model), 100), np.ones((1, 2)), np.ones((1, 3)))
    )
    assert model.calls == [1, 1, 1]
    assert [answer.shape for answer in answers] == [(1, 2), (1, 3)]


def test_a_failing_request_does_not_fail_those_it_was_joined_with() -> None:
    model = Model()
    good, bad = np.ones((2, 2)), -np.ones((1, 2))
    answers = asyncio.run(while_busy(model, Batches(timed(model), 100), good, bad, good))
    assert model.calls == [1, 5, 2, 1, 2]
    np.testing.assert_array_equal(answers[0], good * 2)
    np.testing.assert_array_equal(answers[2], good * 2)
    assert isinstance(answers[1], ValueError)


class Network:
    """A float32 network behind keyed noise; the last bits of its logits depend on the batch."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.hidden = rng.normal(size=(64, 256)).astype(np.float32) / 8
        self.output = rng.normal(size=(256, 10)).astype(np.float32) / 4

    def logits(self, rows: Rows) -> Rows:
        return np.tanh(rows @ self.hidden) @ self.output

    @defended(DynaNoise.keyed(key=bytes(range(32))))
    def __call__(self, rows: Rows) -> Rows:
        return self.logits(rows)

    def noise(self, rows: Rows, answers: Rows) -> Rows:
        """Return the noise on the logits, up to the constant that softmax drops."""
        noise = np.log(answers.astype(np.float64)) - self.logits(rows)
        return noise - noise.mean(axis=1, keepdims=True)


def test_a_float32_model_answers_alike_and_with_the_same_noise_in_any_batch() -> None:
    network = Network()
    rows = np.random.default_rng(1).normal(size=(96, 64)).astype(np.float32)

    async def send(sizes: list[int]) -> Rows:
        batches = Batches(timed(network), 32)
        parts = np.split(rows, np.cumsum(sizes)[:-1])
        return np.concatenate(await asyncio.gather(*map(batches, parts)))

    alone = np.concatenate([network(row[np.newaxis]) for row in rows])
    assert network.noise(rows, alone).std() > 0.5
    for sizes in ([1] * 96, [5, 40, 1, 50], [96]):
        answers = asyncio.run(send(sizes))
        np.testing.assert_allclose(answers, alone, atol=1e-4)
        np.testing.assert_array_equal(answers.argmax(axis=1), alone.argmax(axis=1))
        np.testing.assert_allclose(
            network.noise(rows, answers), network.noise(rows, alone), atol=1e-3
        )


@pytest.mark.parametrize("run", [lambda rows: rows[:-1], lambda _: None])
def test_an_answer_of_the_wrong_size_is_an_error_and_the_next_request_is_served(
    run: Callable[[Rows], Any],
) -> None:
    async def send() -> None:
        batches = Batches(timed(run), 10)
        for _ in range(2):
            with pytest.raises((ValueError, TypeError)):
                await asyncio.wait_for(batches(np.ones((2, 2))), timeout=60)
        assert batches.worker is None

    asyncio.run(send())


def test_a_request_cancelled_while_it_waits_is_never_run() -> None:
    async def send(model: Model) -> Any:
        batches = Batches(timed(model), 100)
        first = asyncio.create_task(batches(np.zeros((1, 2))))
        await asyncio.to_thread(model.started.wait, 60)
        dropped = asyncio.create_task(batches(np.ones((5, 2))))
        kept = asyncio.create_task(batches(np.ones((2, 2))))
        await asyncio.sleep(0)
        dropped.cancel()
        model.go.set()
        await first
        assert (await kept).shape == (2, 2)
        assert not batches.waiting
        assert batches.worker is None
        assert dropped.cancelled() or isinstance(
            (await asyncio.gather(dropped, return_exceptions=True))[0], asyncio.CancelledError
        )

    model = Model()
    asyncio.run(send(model))
    assert model.calls == [1, 2]


def test_a_request_cancelled_while_it_runs_leaves_the_others_their_answers() -> None:
    async def send(model: Model) -> None:
        batches = Batches(timed(model), 100)
        running = asyncio.create_task(batches(np.zeros((1, 2))))
        await asyncio.to_thread(model.started.wait, 60)
        waiting = asyncio.create_task(batches(np.ones((1, 2))))
        await asyncio.sleep(0)
        running.cancel()
        model.go.set()
        np.testing.assert_array_equal(await waiting, np.full((1, 2), 2.0))
        assert batches.worker is None

    asyncio.run(send(Model()))


def test_the_event_loop_lives_while_the_model_runs() -> None:
    async def send(model: Model) -> None:
        answer = asyncio.create_task(Batches(timed(model), 10)(np.ones((1, 2))))
        await asyncio.to_thread(model.started.wait, 60)
        model.go.set()  # only a living loop gets here: the model waits for it
        assert (await answer).shape == (1, 2)

    asyncio.run(send(Model()))


def test_a_call_does_not_see_the_context_of_the_request_that_started_it() -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")
    seen: list[str] = []

    def run(rows: Rows) -> Rows:
        seen.append(who.get())
        return rows

    async def send() -> None:
        who.set("the first client")
        await Batches(timed(run), 10)(np.ones((1, 2)))

    asyncio.run(send())
    assert seen == ["nobody"]


def test_requests_that_wait_when_the_server_stops_are_cancelled_not_left_hanging() -> None:
    async def send(model: Model) -> None:
        batches = Batches(timed(model), 1)
        tasks = [asyncio.create_task(batches(np.ones((1, 2)))) for _ in range(3)]
        await asyncio.to_thread(model.started.wait, 60)
        assert batches.worker is not None
        batches.worker.cancel()
        model.go.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(answer, asyncio.CancelledError) for answer in answers)

    asyncio.run(send(Model()))


def test_a_call_that_is_over_at_once_runs_where_it_is_and_a_longer_one_on_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(batching, "perf_counter", lambda: now[0])
    threads: list[bool] = []

    def run(rows: Rows) -> Ran:
        threads.append(threading.current_thread() is not threading.main_thread())
        now[0] += rows.size * QUICK_SECONDS / 10
        return Ran(rows)

    async def send() -> None:
        batches = Batches(run, 100)
        for count in (1, 1, 4, 5, 1, 5, 5, 5, 1):
            assert len(await batches(np.ones((count, 2)))) == count

    asyncio.run(send())
    # Of the first nothing is known. One long call says little, most of the latest do.
    assert threads == [True, False, False, True, False, True, True, True, True]


def test_a_quick_call_that_fails_fails_its_own_request() -> None:
    def run(rows: Rows) -> Ran:
        if (rows < 0).any():
            raise ValueError("negative")
        return Ran(rows)

    async def send() -> None:
        batches = Batches(run, 100)
        batches.paces.append((1, 0.0))
        with pytest.raises(ValueError, match="negative"):
            await batches(-np.ones((1, 2)))
        assert (await batches(np.ones((1, 2)))).shape == (1, 2)

    asyncio.run(send())


def test_a_visit_is_told_how_long_its_rows_waited_and_took() -> None:
    model = Model()
    first, second = Visit(id="1"), Visit(id="2")

    async def send() -> None:
        batches = Batches(timed(model), 100)
        begun = asyncio.create_task(batches(np.zeros((1, 2)), first))
        await asyncio.to_thread(model.started.wait, 60)
        waits = asyncio.create_task(batches(np.zeros((1, 2)), second))
        await asyncio.sleep(0.05)
        model.go.set()
        await asyncio.gather(begun, waits)

    asyncio.run(send())
    assert second.queue >= 0.05
    assert first.queue < second.queue
    assert (second.model, second.defense) == (first.model, first.defense) == (2.0, 1.0)
