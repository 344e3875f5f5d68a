"""Where what clients have used is counted: a file on this machine, or a Redis for several."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from limits.aio.storage import Storage
from limits.storage import storage_from_string

from dynaserve.serving.access import sqlite
from dynaserve.serving.models.imports import require
from dynaserve.state import state_path

FILE = "limits.sqlite"
REDIS_SECONDS = 1.0
"""How long a request may wait for Redis: once for a connection of those that there may be, once to
connect and once for each answer, and never longer than ``patience`` has it."""
REDIS_CONNECTIONS = 16
"""Of a worker: each answers thousands of requests a second."""


@dataclass(frozen=True)
class Store:
    """A storage, and how it is given up."""

    storage: Storage
    close: Callable[[], Awaitable[None]]


def open_store(state: str | None) -> Store:
    """Return the store that all workers share; nothing is opened before it is used.

    Parameters
    ----------
    state : str or None
        ``redis://[user:password@]host[:port][/db]``, ``rediss://`` for TLS, or ``unix://`` and a
        path, as the settings have checked. None is a file in the state directory.

    Raises
    ------
    ValueError
        It is no such address, which is not repeated, for it may hold a password; or the redis
        package is missing.
    """
    return file_store(state_path() / FILE) if state is None else redis_store(state)


def file_store(path: Path) -> Store:
    """Return the store in a file of this machine."""
    storage = storage_from_string(sqlite.uri_of(path), wrap_exceptions=True)
    assert isinstance(storage, sqlite.SqliteStorage)  # noqa: S101 - its scheme says so
    return Store(storage, storage.close)


def redis_store(address: str) -> Store:
    """Return the store in a Redis, for the services of several machines."""
    redis = require("redis.asyncio", extra="serve")
    try:
        pool = redis.BlockingConnectionPool.from_url(
            address,
            max_connections=REDIS_CONNECTIONS,
            timeout=REDIS_SECONDS,
            socket_timeout=REDIS_SECONDS,
            socket_connect_timeout=REDIS_SECONDS,
            # Asked once: a second try could count twice, and would make the request wait longer.
            retry=None,
        )
    except ValueError:
        raise ValueError("state: Redis' client cannot make out the address") from None
    storage = storage_from_string(
        "async+redis://",  # its address is the pool's
        wrap_exceptions=True,
        implementation="redispy",
        key_prefix="dynaserve",
        connection_pool=pool,
    )
    assert isinstance(storage, Storage)  # noqa: S101 - its scheme says so
    return Store(storage, pool.aclose)
