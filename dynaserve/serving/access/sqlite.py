"""Counters in one SQLite file for all workers of a machine: a storage of the ``limits`` library.

It holds names of counters and numbers, nothing else. It counts as limits' own Redis storage does:
a window begins with its first request, and the one before it fades while the current one lasts.

A clock that steps back by any length makes a window last at most one window longer, and gives
nothing back. One that steps forward ends windows early: at most one window's worth more.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from limits.aio.storage import SlidingWindowCounterSupport, Storage

from dynaserve.atomic import create_file

SCHEME = "async+dynaserve-sqlite"
BUSY_SECONDS = 1.0
"""How long a request may wait for other processes; a turn takes microseconds."""
PAUSE_SECONDS = 0.002
LOG_TRANSACTIONS = 1000
"""Of one process until the log is moved into the file: some megabytes of it."""
MOVE_SECONDS = 0.1
"""How long moving the last of the log may wait for others, who wait for it meanwhile."""

TABLE = """
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    start REAL NOT NULL,
    seconds INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    current INTEGER NOT NULL
) WITHOUT ROWID
"""
READ = "SELECT start, seconds, previous, current FROM counters WHERE name = ?"
WRITE = "REPLACE INTO counters VALUES (?, ?, ?, ?, ?)"


@dataclass(frozen=True)
class Window:
    """What was counted in a window that began at ``start``, and in the one before it."""

    start: float
    seconds: int
    previous: int = 0
    current: int = 0

    def at(self, now: float) -> Window:
        """Return the window that ``now`` lies in."""
        if now < self.start:  # the clock was set back
            return replace(self, start=now)
        if now >= self.start + 2 * self.seconds:
            return Window(now, self.seconds)
        if now >= self.start + self.seconds:
            return Window(self.start + self.seconds, self.seconds, self.current)
        return self

    def left(self, now: float) -> float:
        """Return how many seconds the window lasts yet."""
        return self.start + self.seconds - now

    def weight(self, now: float) -> int:
        """Return what counts now: all of the current window, and a fading part of the last."""
        return int(self.previous * self.left(now) / self.seconds) + self.current

    def plus(self, amount: int) -> Window:
        """Return the window with that much more in it."""
        return replace(self, current=self.current + amount)


class SqliteStorage(Storage, SlidingWindowCounterSupport):
    """Counters in a file that belongs to this user alone; made at first use, opened when needed.

    A transaction takes tens of microseconds, less than handing it to a thread, so it runs in the
    event loop. What waits for the disk does not: transactions only add to the log beside the file,
    which a thread moves into the file now and then. After any error the connection is made anew.
    """

    STORAGE_SCHEME = [SCHEME]  # noqa: RUF012 - as the library has it

    def __init__(self, uri: str, wrap_exceptions: bool = False, **_: float | str | bool) -> None:
        super().__init__(uri, wrap_exceptions=wrap_exceptions)
        self.path = Path(unquote(urlsplit(uri).path))
        self._connection: sqlite3.Connection | None = None
        self._transactions = 0
        self._moving: threading.Thread | None = None

    @property
    def base_exceptions(self) -> tuple[type[Exception], ...]:
        """What a broken store raises."""
        return sqlite3.Error, OSError

    async def acquire_sliding_window_entry(
        self, key: str, limit: int, expiry: int, amount: int = 1
    ) -> bool:
        """Count ``amount`` if no more than ``limit`` then count, else nothing."""
        async with self._transaction() as connection:
            now = time.time()
            found = read(connection, key, expiry, now)
            window = found.at(now)
            if fits := window.weight(now) + amount <= limit:
                window = window.plus(amount)
            if window != found:  # also where nothing fits: a clock that was set back is over then
                write(connection, key, window)
        return fits

    async def get_sliding_window(self, key: str, expiry: int) -> tuple[int, float, int, float]:
        """Return the counts of the last window and of this one, with the seconds each has left.

        This one counts for twice its length, for it will be the last one.
        """
        async with self._transaction() as connection:
            now = time.time()
            window = read(connection, key, expiry, now).at(now)
        left = window.left(now)
        return window.previous, left, window.current, left + expiry

    async def clear_sliding_window(self, key: str, expiry: int) -> None:  # noqa: ARG002
        """Forget a counter."""
        await self.clear(key)

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count ``amount``, and return what the current window then holds."""
        async with self._transaction() as connection:
            now = time.time()
            window = read(connection, key, expiry, now).at(now).plus(amount)
            write(connection, key, window)
        return window.current

    async def get(self, key: str) -> int:
        """Return what the current window holds."""
        return (await self._found(key)).current

    async def get_expiry(self, key: str) -> float:
        """Return when the current window ends, in seconds since 1970."""
        window = await self._found(key)
        return window.start + window.seconds

    async def _found(self, key: str) -> Window:
        async with self._transaction() as connection:
            now = time.time()
            return read(connection, key, 0, now).at(now)

    async def clear(self, key: str) -> None:
        """Forget a counter."""
        async with self._transaction() as connection:
            connection.execute("DELETE FROM counters WHERE name = ?", (key,))

    async def reset(self) -> int:
        """Forget all counters, and return how many there were."""
        async with self._transaction() as connection:
            return connection.execute("DELETE FROM counters").rowcount

    async def check(self) -> bool:
        """Whether the file can be written."""
        try:
            async with self._transaction():
                return True
        except self.base_exceptions:
            return False

    async def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[sqlite3.Connection]:
        """Take the one turn to write, without waiting inside; what goes wrong counts nothing."""
        connection = await self._turn()
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            self._close()
            raise
        self._transactions += 1
        if self._transactions >= LOG_TRANSACTIONS:
            self._move_log()

    def _move_log(self) -> None:
        """Have a thread move the log into the file, unless one is at it."""
        if self._moving is None or not self._moving.is_alive():
            self._transactions = 0
            self._moving = threading.Thread(target=move_log, args=(self.path,), daemon=True)
            self._moving.start()

    async def _turn(self) -> sqlite3.Connection:
        """Begin a transaction once no other process has one; other requests go on meanwhile."""
        last = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                if self._connection is None:
                    self._connection = opened(self.path)
                self._connection.execute("BEGIN IMMEDIATE")
            except (sqlite3.Error, OSError) as error:
                # Another error may name a path, which may be of anything.
                is_held = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
                if not is_held or time.monotonic() >= last:
                    self._close()
                    raise
            else:
                return self._connection
            await asyncio.sleep(PAUSE_SECONDS)


def uri_of(path: Path) -> str:
    """Return what ``limits`` makes a storage of."""
    return f"{SCHEME}://{quote(str(path))}"


def read(connection: sqlite3.Connection, name: str, seconds: int, now: float) -> Window:
    """Return the last window of a counter; one that begins now if there is none."""
    found = connection.execute(READ, (name,)).fetchone()
    return Window(*found) if found else Window(now, seconds)


def write(connection: sqlite3.Connection, name: str, window: Window) -> None:
    """Keep a window."""
    values = (name, window.start, window.seconds, window.previous, window.current)
    connection.execute(WRITE, values)


def opened(path: Path) -> sqlite3.Connection:
    """Open the file, which is made if it is not there.

    Raises
    ------
    PermissionError
        It belongs to somebody else, or others can read or write it.
    """
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        create_file(path, blank(), mode=0o600)
    info = path.lstat()
    if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o077:
        raise PermissionError(f"{path} is not a file of this user alone (mode 0600); move it away")
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    # No transaction waits for the disk: a machine that loses power may forget the last counts, but
    # keeps the file whole, which OFF would not.
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # `move_log` does it
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def move_log(path: Path) -> None:
    """Move what the log holds into the file, so that it begins anew; for a thread of its own.

    Most of it while others write on, and then the rest, for which they wait. What does not succeed
    is left to the next time: the log is as good as the file.
    """
    there = f"file:{quote(str(path))}?mode=rw"  # a file that has gone is not to be made here
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(there, timeout=MOVE_SECONDS, uri=True)) as mine,
    ):
        mine.execute("PRAGMA synchronous = NORMAL")
        mine.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        mine.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()


def blank() -> bytes:
    """Return the bytes of a file without counters.

    It is whole, and in WAL mode, from the start: that mode cannot be set while others are at work.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "blank")
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(TABLE)
            connection.commit()
        return path.read_bytes()
