from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import RateLimitItemPerMinute
from limits.aio.strategies import FixedWindowRateLimiter, SlidingWindowCounterRateLimiter
from limits.errors import StorageError
from limits.storage import storage_from_string

from dynaserve.serving.access import sqlite as module
from dynaserve.serving.access.sqlite import SqliteStorage, Window, uri_of
from tests.serving.access.conftest import Clock

DAY = 86_400


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "limits.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStorage]:
    store = SqliteStorage(uri_of(path), wrap_exceptions=True)
    yield store
    asyncio.run(store.close())


def take(store: SqliteStorage, amount: int, limit: int = 10, seconds: int = 100) -> bool:
    return asyncio.run(store.acquire_sliding_window_entry("rows/a", limit, seconds, amount))


def windows(store: SqliteStorage, seconds: int = 100) -> tuple[int, float, int, float]:
    return asyncio.run(store.get_sliding_window("rows/a", seconds))


def test_the_library_finds_it_by_its_scheme_wherever_the_file_is(tmp_path: Path) -> None:
    path = tmp_path / "a b%20?#ü.sqlite"
    store: Any = storage_from_string(uri_of(path), wrap_exceptions=True)
    assert isinstance(store, SqliteStorage)
    assert take(store, 1)
    assert path.exists()
    asyncio.run(store.close())


def test_no_more_than_the_limit_is_taken_and_what_does_not_fit_costs_nothing(
    store: SqliteStorage,
) -> None:
    assert [take(store, amount) for amount in (6, 5, 4, 1, 0)] == [True, False, True, False, True]
    assert windows(store)[2] == 10


def test_a_window_fades_while_the_next_one_lasts(store: SqliteStorage, clock: Clock) -> None:
    assert take(store, 10)
    clock.step(99.5)
    assert not take(store, 1)
    clock.step(0.5)  # the next one: all ten still count
    assert not take(store, 1)
    clock.step(25)  # three quarters of ten, rounded down
    assert windows(store) == (10, 75, 0, 175)
    assert [take(store, amount) for amount in (4, 3, 1)] == [False, True, False]
    clock.step(75)  # the one after: three of the last
    assert windows(store) == (3, 100, 0, 200)
    clock.step(200)
    assert windows(store) == (0, 100, 0, 200)
    assert take(store, 10)


def test_a_clock_set_back_gives_nothing_back_and_locks_out_for_one_window_more(
    store: SqliteStorage, clock: Clock
) -> None:
    assert take(store, 10)
    clock.step(-1e9)
    assert not take(store, 1)
    assert windows(store)[2] == 10
    clock.step(100 + 50)
    assert [take(store, 5), take(store, 1)] == [True, False]


def test_a_clock_set_back_a_little_makes_the_window_that_much_longer(
    store: SqliteStorage, clock: Clock
) -> None:
    assert take(store, 10)
    clock.step(60)
    clock.step(-50)
    clock.step(89)
    assert not take(store, 1)
    clock.step(1 + 10)
    assert take(store, 1)


def test_a_clock_set_forward_gives_one_window_and_set_right_again_no_second(
    store: SqliteStorage, clock: Clock
) -> None:
    assert take(store, 10)
    clock.step(1e9)
    assert take(store, 10)
    assert not take(store, 1)
    clock.step(-1e9)
    assert not take(store, 1)


@given(
    limit=st.integers(1, 30),
    steps=st.lists(st.tuples(st.floats(0, 250), st.integers(1, 12)), max_size=40),
)
def test_whoever_asks_however_gets_no_more_than_promised_and_no_less(
    limit: int, steps: list[tuple[float, int]]
) -> None:
    window, now = Window(0.0, 100), 0.0
    taken: list[tuple[float, int]] = []

    def since(then: float) -> int:
        return sum(amount for at, amount in taken if at > then)

    for passed, amount in steps:
        now += passed
        window = window.at(now)
        fits = window.weight(now) + amount <= limit
        if fits:
            window = window.plus(amount)
            taken.append((now, amount))
        assert since(now - 100) <= 2 * limit
        assert since(-1) <= limit * (now // 100 + 1)
        assert fits or since(now - 200) + amount > limit


def test_the_librarys_own_strategies_run_on_it(store: SqliteStorage, clock: Clock) -> None:
    item = RateLimitItemPerMinute(3)

    async def run() -> list[Any]:
        fixed, sliding = FixedWindowRateLimiter(store), SlidingWindowCounterRateLimiter(store)
        found: list[Any] = [await fixed.hit(item, "a") for _ in range(4)]
        found += [await fixed.test(item, "a"), await fixed.get_window_stats(item, "a")]
        await fixed.clear(item, "a")
        found += [await sliding.hit(item, "a", cost=2), await sliding.test(item, "a", cost=2)]
        found += [(await sliding.get_window_stats(item, "a")).remaining]
        await sliding.clear(item, "a")
        found += [(await sliding.get_window_stats(item, "a")).remaining]
        await store.incr("b", 10)
        found += [await store.get("b"), await store.get("none"), await store.check()]
        found += [await store.reset(), await store.get("b")]
        return found

    ends = (clock.seconds + 60, 0)
    assert asyncio.run(run()) == [
        *(True, True, True, False),
        *(False, ends),
        *(True, False, 1),
        *(3, 1, 0, True, 1, 0),
    ]


def test_the_file_is_its_users_alone_and_holds_names_and_numbers(
    store: SqliteStorage, path: Path
) -> None:
    before = os.umask(0)
    try:
        assert take(store, 3)
    finally:
        os.umask(before)
    files = list(path.parent.iterdir())
    assert len(files) == 3  # with what WAL mode keeps beside it
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    with closing(sqlite3.connect(path)) as connection:
        ((name, *numbers),) = connection.execute("SELECT * FROM counters").fetchall()
    assert name == "rows/a"
    assert all(isinstance(each, (int, float)) for each in numbers)


@pytest.mark.parametrize("kind", ["readable", "foreign", "link", "other database"])
def test_a_file_that_is_not_its_own_is_not_counted_in(
    store: SqliteStorage, path: Path, kind: str
) -> None:
    if kind == "link":
        path.symlink_to(path.with_name("elsewhere"))
        path.with_name("elsewhere").write_bytes(module.blank())
        path.with_name("elsewhere").chmod(0o600)
    else:
        path.write_bytes(
            {"foreign": b"not a database" * 99, "other database": b""}.get(kind, module.blank())
        )
        path.chmod(0o644 if kind == "readable" else 0o600)
    for _ in range(2):
        with pytest.raises(StorageError):
            take(store, 1)
    path.unlink()
    assert take(store, 1)


@pytest.fixture
def held(store: SqliteStorage, path: Path) -> Iterator[sqlite3.Connection]:
    """Take the turn to write, as another process does, with four counted."""
    assert take(store, 4)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def test_what_another_holds_for_long_is_an_error_and_then_goes_on(
    store: SqliteStorage, held: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.02)
    with pytest.raises(StorageError, match="locked"):
        take(store, 1)
    assert not asyncio.run(store.check())
    held.execute("ROLLBACK")
    assert [take(store, 6), take(store, 1)] == [True, False]


def test_an_error_that_only_names_a_locked_place_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "locked" / "limits.sqlite"
    path.parent.mkdir()
    path.touch(mode=0o644)
    tried = []
    opened = module.opened
    monkeypatch.setattr(module, "opened", lambda path: tried.append(path) or opened(path))
    with pytest.raises(StorageError, match=r"locked/limits\.sqlite is not a file of this user"):
        take(SqliteStorage(uri_of(path), wrap_exceptions=True), 1)
    assert tried == [path]


def test_what_another_holds_for_a_moment_is_waited_for_while_others_go_on(
    store: SqliteStorage, held: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 60)

    async def run() -> list[bool]:
        waiting = [
            asyncio.create_task(store.acquire_sliding_window_entry("rows/a", 10, 100, amount))
            for amount in (4, 2, 1)
        ]
        await asyncio.sleep(0.01)
        assert not any(task.done() for task in waiting)
        held.execute("ROLLBACK")
        return await asyncio.gather(*waiting)

    took = asyncio.run(run())
    assert windows(store)[2] == 4 + sum(n for n, ok in zip((4, 2, 1), took, strict=True) if ok)
    assert windows(store)[2] >= 10 - 1


def test_a_transaction_that_fails_counts_nothing(
    store: SqliteStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert take(store, 4)
    write = module.write

    def fail(*given: Any) -> None:
        write(*given)
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(module, "write", fail)
    with pytest.raises(StorageError):
        take(store, 5)
    monkeypatch.undo()
    assert windows(store)[2] == 4


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Make a disk of 256 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mounted, check=False, capture_output=True).returncode:
        pytest.skip("cannot mount a disk")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_is_an_error_until_there_is_room(small_disk: Path) -> None:
    store = SqliteStorage(uri_of(small_disk / "limits.sqlite"), wrap_exceptions=True)
    assert take(store, 4)
    asyncio.run(store.close())
    filler = small_disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1024))
    for _ in range(3):
        with pytest.raises(StorageError):
            take(store, 1)
    filler.unlink()
    assert [take(store, 6), take(store, 1)] == [True, False]
    asyncio.run(store.close())


def test_a_disk_that_fills_up_while_it_counts_is_an_error_until_there_is_room(
    store: SqliteStorage,
) -> None:
    assert take(store, 4)
    assert store._connection is not None
    store._connection.execute("PRAGMA max_page_count = 2")  # what it has

    async def fill() -> None:
        for number in range(2000):
            await store.incr(f"requests/{number:012x}/10", 10)

    with pytest.raises(StorageError, match="full"):
        asyncio.run(fill())
    assert [take(store, 6), take(store, 1)] == [True, False]


async def count(store: SqliteStorage, transactions: int) -> None:
    for _ in range(transactions):
        await store.incr("a", 1000)
        if store._moving is not None:
            store._moving.join()


def test_the_log_is_moved_into_the_file_by_a_thread_and_does_not_grow_on(
    store: SqliteStorage, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOG_TRANSACTIONS", 50)
    moved_by: list[int] = []
    move_log = module.move_log

    def move(path: Path) -> None:
        moved_by.append(threading.get_ident())
        move_log(path)

    monkeypatch.setattr(module, "move_log", move)
    log = path.with_name("limits.sqlite-wal")
    asyncio.run(count(store, 50))
    size = log.stat().st_size
    assert size > 50 * 4096
    asyncio.run(count(store, 950))
    assert log.stat().st_size <= 2 * size
    assert len(moved_by) == 20
    assert threading.get_ident() not in moved_by
    assert store._connection is not None
    assert store._connection.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)
    # What is in the file alone is all but what was counted since.
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        assert connection.execute("SELECT current FROM counters").fetchall() == [(1000,)]


def test_a_log_that_cannot_be_moved_stops_nothing(
    store: SqliteStorage, held: sqlite3.Connection, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOVE_SECONDS", 0.01)
    module.move_log(path)
    module.move_log(path.with_name("none"))
    assert not path.with_name("none").exists()
    held.execute("ROLLBACK")
    assert [take(store, 6), take(store, 1)] == [True, False]


RACE = """
import asyncio, sys
from pathlib import Path
from dynaserve.serving.access import sqlite
from dynaserve.serving.access.sqlite import SqliteStorage, uri_of

sqlite.BUSY_SECONDS = 60  # the machine may be busy with other things

async def run():
    store, took = SqliteStorage(uri_of(Path(sys.argv[1]))), 0
    for turn in range(1500):
        amount = 1 + turn % 3
        took += amount * await store.acquire_sliding_window_entry("rows/a", 4001, 86400, amount)
    return took

print(asyncio.run(run()))
"""


def test_processes_that_race_take_exactly_what_there_is(path: Path) -> None:
    command = [sys.executable, "-c", RACE, str(path)]
    racing = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    took = [int(each.communicate(timeout=120)[0]) for each in racing]
    # They ask for 9000 together, in ones, twos and threes.
    assert sum(took) == 4001
    store = SqliteStorage(uri_of(path))
    assert windows(store, DAY)[2] == 4001  # and it outlives them
    asyncio.run(store.close())
