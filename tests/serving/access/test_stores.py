from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dynaserve.serving.access.ledger import Ledger
from dynaserve.serving.access.sqlite import SqliteStorage
from dynaserve.serving.access.stores import REDIS_CONNECTIONS, open_store
from dynaserve.serving.refused import LaterError, RefusedError
from tests.serving.access.conftest import Clock, Redis

CLIENT = "a" * 12


@pytest.mark.parametrize(
    ("state", "place"),
    [
        ("redis://h:1234", ("h", 1234, 0)),
        ("redis://h", ("h", None, 0)),
        ("redis://[::1]:1/3", ("::1", 1, 3)),
        ("rediss://u:p%40w@h:1/2", ("h", 1, 2)),
        ("unix:///run/redis.sock", (None, None, 0)),
    ],
)
def test_a_redis_is_named_by_its_address(state: str, place: tuple[Any, ...]) -> None:
    storage: Any = open_store(state).storage
    pool = storage.bridge.get_connection().connection_pool
    told = pool.connection_kwargs
    assert (told.get("host"), told.get("port"), told.get("db", 0)) == place
    assert (told["socket_timeout"], told["socket_connect_timeout"]) == (1, 1)
    assert pool.make_connection().retry.get_retries() == 0


@pytest.mark.parametrize(
    "state",
    [
        "",
        "redis",
        "http://hush@h",
        "redis://hush@h:hush",
        "/hush",
        "memcached://hush@h:1",
        "async+redis://hush@h:1",
        "redis://[hush",
    ],
)
def test_anything_else_is_refused_and_not_quoted(state: str) -> None:
    with pytest.raises(
        ValueError, match="state: Redis' client cannot make out the address"
    ) as error:
        open_store(state)
    assert "hush" not in str(error.value)


def test_without_one_a_file_in_the_state_directory_is_used(state_directory: Path) -> None:
    store = open_store(None)
    assert isinstance(store.storage, SqliteStorage)
    assert store.storage.path == state_directory / "limits.sqlite"
    assert asyncio.run(store.storage.check())
    asyncio.run(store.close())


def test_a_missing_redis_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    with pytest.raises(ValueError, match=r"pip install 'dynaserve\[serve\]'"):
        open_store("redis://h")


@asynccontextmanager
async def counting(state: str | None) -> AsyncIterator[Ledger]:
    store = open_store(state)
    yield Ledger(store.storage)
    await store.close()


async def taken(ledger: Ledger, rows: int = 1, per_day: int = 10) -> bool | str:
    """Say whether rows were taken, or why not."""
    try:
        await ledger.take_rows(CLIENT, per_day, rows)
    except RefusedError as error:
        return error.reason
    return True


RACE = """
import asyncio, sys
from dynaserve.serving.access.ledger import Ledger
from dynaserve.serving.access.stores import open_store
from dynaserve.serving.refused import RefusedError

async def run():
    ledger, took = Ledger(open_store(sys.argv[1]).storage), 0
    for turn in range(300):
        try:
            await ledger.take_rows("a" * 12, 800, 1 + turn % 3)
            took += 1 + turn % 3
        except RefusedError as error:
            assert error.reason == "budget", error
    return took

print(asyncio.run(run()))
"""


def test_processes_that_race_take_exactly_what_there_is_in_redis(redis: Redis) -> None:
    command = [sys.executable, "-c", RACE, redis.url]
    racing = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    took = [int(each.communicate(timeout=120)[0]) for each in racing]
    assert sum(took) == 800  # of 1800


def test_redis_that_dies_is_a_503_and_one_that_is_back_counts_again(
    redis: Redis, ticks: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> list[Any]:
        async with counting(redis.url) as ledger:
            found = [await taken(ledger)]
            redis.kill()
            for _ in range(3):
                found.append(await taken(ledger))
                ticks.step(1)
            redis.start()
            found += [await taken(ledger), await taken(ledger, 10)]
            return found

    assert asyncio.run(run()) == [True, *["unavailable"] * 3, True, "budget"]
    assert len(caplog.messages) == 1
    assert str(redis.port) not in caplog.text


def test_a_redis_that_does_not_answer_is_not_waited_for_by_every_request(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    really = Ledger._taken

    async def counted(*given: Any) -> Any:
        nonlocal asked
        asked += 1
        return await really(*given)

    async def run() -> list[Any]:
        async with counting(redis.url) as ledger:
            return [await taken(ledger) for _ in range(200)]

    monkeypatch.setattr(Ledger, "_taken", counted)
    assert redis.process is not None
    redis.process.send_signal(signal.SIGSTOP)  # its socket takes connections, nobody reads them
    try:
        assert asyncio.run(run()) == ["unavailable"] * 200
    finally:
        redis.process.send_signal(signal.SIGCONT)
    assert asked < 100


def test_a_redis_that_does_not_answer_holds_few_connections_and_nobody_for_long(
    redis: Redis,
) -> None:
    """A crowd of 300 comes before it is known, and one of 300 when it may be tried again."""
    import redis as client

    async def crowd(ledger: Ledger) -> set[Any]:
        return set(await asyncio.gather(*(taken(ledger) for _ in range(300))))

    async def run() -> tuple[list[set[Any]], int]:
        store = open_store(redis.url)
        ledger = Ledger(store.storage)
        assert redis.process is not None
        redis.process.send_signal(signal.SIGSTOP)
        try:
            found = [await crowd(ledger)]
            await asyncio.sleep(1.1)
            found += [await crowd(ledger)]
        finally:
            redis.process.send_signal(signal.SIGCONT)
        await asyncio.sleep(1.1)
        found += [{await taken(ledger)}, await crowd(ledger)]
        with client.Redis.from_url(redis.url) as connection:
            connected = connection.info("clients")["connected_clients"]
        await store.close()
        return found, connected

    found, connected = asyncio.run(run())
    assert found == [{"unavailable"}, {"unavailable"}, {True}, {True, "budget"}]
    assert connected <= REDIS_CONNECTIONS + 1


def test_a_wrong_password_is_a_503_and_is_not_logged(
    redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> Any:
        async with counting(f"redis://user:hush@127.0.0.1:{redis.port}") as ledger:
            return await taken(ledger)

    assert asyncio.run(run()) == "unavailable"
    assert "hush" not in caplog.text


def test_redis_holds_ids_and_counts_which_expire(redis: Redis) -> None:
    import redis as client

    async def run() -> None:
        async with counting(redis.url) as ledger:
            await ledger.take_rows(CLIENT, 10, 4)
            await ledger.take_request(CLIENT, 2.5)

    asyncio.run(run())
    with client.Redis.from_url(redis.url, decode_responses=True) as connection:
        found = {name: connection.get(name) for name in connection.scan_iter("*")}
        assert found == {
            f"dynaserve:{{rows/{CLIENT}/86400}}": "4",
            f"dynaserve:{{requests/{CLIENT}/10}}": "1",
        }
        assert all(0 < connection.ttl(name) <= 2 * 86400 for name in found)


def test_a_redis_whose_clock_was_set_back_locks_nobody_out_for_longer_than_a_window(
    redis: Redis,
) -> None:
    import redis as client

    async def run() -> list[Any]:
        async with counting(redis.url) as ledger:
            found = [await taken(ledger, 10), await taken(ledger)]
            with client.Redis.from_url(redis.url) as connection:
                name = f"dynaserve:{{rows/{CLIENT}/86400}}"
                connection.expire(name, 3 * 86400 - 9)  # as if set back by less than a day
                found += [await taken(ledger)]
                connection.expire(name, 9 * 86400)
                found += [await taken(ledger, 10), await taken(ledger)]
            return found

    assert asyncio.run(run()) == [True, "budget", "budget", True, "budget"]


def test_the_same_refusal_says_the_same_in_both_stores(redis: Redis, state_directory: Path) -> None:
    async def run(state: str | None) -> int:
        async with counting(state) as ledger:
            await ledger.take_rows(CLIENT, 10, 8)
            with pytest.raises(LaterError) as error:
                await ledger.take_rows(CLIENT, 10, 5)
            return error.value.seconds

    waits = [asyncio.run(run(state)) for state in (None, redis.url)]
    # The day has to end, and of its 8 rows no more than 5 may still count: below 6, at a quarter.
    assert all(abs(wait - 86400 * 1.25) <= 5 for wait in waits)
    assert state_directory.exists()
