from __future__ import annotations

import errno
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from dynaserve.bulk import scheduling
from dynaserve.bulk.errors import StoppedError
from dynaserve.bulk.scheduling import Crew, Killed


def double(number: int) -> int:
    return 2 * number


def fail(error: Exception) -> None:
    raise error


class Watched:
    """A client that notes how many calls are pending at most."""

    def __init__(self, client: Any, threads: list[dict[str, int]] | None = None) -> None:
        self._client, self._threads = client, threads
        self.open = self.most = 0

    def submit(self, *arguments: Any, **options: Any) -> Any:
        self.open += 1
        self.most = max(self.most, self.open)
        return self._client.submit(*arguments, **options)

    def nthreads(self) -> dict[str, int]:
        if self._threads is None:
            return dict(self._client.nthreads())
        return self._threads.pop(0) if len(self._threads) > 1 else self._threads[0]

    def cancel(self, futures: list[Any]) -> None:
        self._client.cancel(futures)


def crew_of(client: Any, tick: Callable[[int], object] = lambda _: None) -> Crew:
    return Crew(client, uuid.uuid4().hex, tick)


def test_every_call_is_made_and_a_few_at_a_time(client: Any) -> None:
    watched, ticks = Watched(client), []
    crew = crew_of(watched, ticks.append)
    found = {}
    for number, result in crew.results("double", ((n, (double, n)) for n in range(50))):
        watched.open -= 1
        found[number] = result
    assert found == {number: 2 * number for number in range(50)}
    assert watched.most <= 2 * scheduling._IN_HAND
    assert set(ticks) == {2}


def test_calls_are_not_forgotten_while_there_is_no_worker(client: Any) -> None:
    crew = crew_of(Watched(client, [{}, {}, {"a": 1}]))
    found = dict(crew.results("double", ((n, (double, n)) for n in range(5))))
    assert found == {number: 2 * number for number in range(5)}


def test_workers_that_do_not_come_back_stop_it(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduling, "_PATIENCE", 2)
    crew = crew_of(Watched(client, [{}]))
    calls = ((n, (double, n)) for n in range(50))
    with pytest.raises(StoppedError, match="all Dask workers have gone; what is done is kept"):
        list(crew.results("double", calls))


def test_a_scheduler_that_cannot_be_asked_stops_it(client: Any) -> None:
    class Gone(Watched):
        def nthreads(self) -> dict[str, int]:
            raise OSError("timed out")

    with pytest.raises(StoppedError, match="the Dask scheduler has gone"):
        list(crew_of(Gone(client)).results("double", [(0, (double, 0))]))


def test_a_call_that_is_cancelled_has_lost_its_scheduler(client: Any) -> None:
    class Cancelling(Watched):
        def submit(self, *arguments: Any, **options: Any) -> Any:
            future = super().submit(*arguments, **options)
            self._client.cancel([future], force=True)
            return future

    with pytest.raises(StoppedError, match="the Dask scheduler has gone"):
        list(crew_of(Cancelling(client)).results("double", [(0, (double, 0))]))


def test_what_dies_beside_a_deadly_call_is_made_again_alone(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, original = Watched(client), scheduling._result

    def result(future: Any) -> Any:
        _, _, number = future.key.rpartition("-")
        alone = future.key.startswith("double-alone-")
        watched.open -= 1
        if number == "1" or (number in {"0", "2", "3"} and not alone):
            return Killed()
        if alone:
            assert watched.open == 0
        return original(future)

    monkeypatch.setattr(scheduling, "_result", result)
    crew = crew_of(watched)
    found = dict(crew.results("double", ((n, (double, n)) for n in range(8))))
    assert found == {n: 2 * n for n in range(8)} | {1: Killed()}


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (
            OSError(errno.ENOSPC, "No space left", "/out/x"),
            StoppedError,
            "^/out/x: No space left; ",
        ),
        (OSError("odd"), StoppedError, "^odd; what is done is kept"),
        (ValueError("wrong"), ValueError, "^wrong$"),
    ],
)
def test_what_a_call_raises_comes_out_in_words(
    client: Any, error: Exception, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        list(crew_of(client).results("fail", [(0, (fail, error))]))
