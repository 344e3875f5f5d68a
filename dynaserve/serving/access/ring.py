"""From what a client presents to the client: the keys in force, at most a second old.

Each worker has a ring of its own and looks at the file itself, so that a revocation needs no
restart. Where the keys cannot be known, nobody gets in.

A file of thousands of keys takes about a second to read. A thread does that, and until it is done
the keys of before are in force.
"""

from __future__ import annotations

import hmac
import logging
import os
import secrets
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from dynaserve.serving.access.errors import UnauthenticatedError
from dynaserve.serving.access.keys import digest_of, parts_of
from dynaserve.serving.access.records import Records, Role, read_records
from dynaserve.serving.refused import LaterError

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How long the file is not looked at again: what a revocation takes to work."""
SMALL_BYTES = 8 * 2**10
"""Of a file that is read at once: some twenty keys, and a few milliseconds."""

Stamp = tuple[int, ...]


@dataclass(frozen=True)
class Client:
    """Whom a key stands for.

    Attributes
    ----------
    id : str
        That of its key.
    role : str
        ``client`` or ``monitor``.
    requests_per_second, rows_per_day : float, int or None
        The key's own limits; None where it has none.
    """

    id: str
    role: Role = "client"
    requests_per_second: float | None = None
    rows_per_day: int | None = None


@dataclass(frozen=True)
class Entry:
    """A client, and what it takes to be that client."""

    client: Client
    digest: bytes
    valid_until: float


class KeyRing:
    """The keys of one file.

    Parameters
    ----------
    path : Path
        As ``records`` writes it.

    Raises
    ------
    ValueError, OSError
        The file cannot be used now, at the start. Later it is a 503 until it can be.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._nobody = secrets.token_bytes(32)
        self._seen = self._stamp()
        self._entries: dict[str, Entry] | None = entries_of(read_records(path))
        self._looked = time.monotonic()
        self._reading: threading.Thread | None = None

    @property
    def has_limits(self) -> bool:
        """Whether some key has limits of its own."""
        return any(
            (entry.client.requests_per_second, entry.client.rows_per_day) != (None, None)
            for entry in (self._entries or {}).values()
        )

    def client_of(self, presented: str) -> Client:
        """Return the client whose key this is.

        Raises
        ------
        UnauthenticatedError
            No valid key is like it.
        LaterError
            The file of keys cannot be read.
        """
        entries = self._current()
        identity, secret = parts_of(presented)
        entry = entries.get(identity)
        # An unknown id takes as long as a wrong secret.
        matches = hmac.compare_digest(
            digest_of(secret), self._nobody if entry is None else entry.digest
        )
        if entry is None or not matches or time.time() >= entry.valid_until:
            raise UnauthenticatedError
        return entry.client

    def _current(self) -> dict[str, Entry]:
        now = time.monotonic()
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            self._look()
        entries = self._entries  # which the thread may change
        if entries is None:
            raise LaterError("API keys cannot be checked at the moment; try again", seconds=1)
        return entries

    def _look(self) -> None:
        """Read the file again if it is another than last time, or could not be read then."""
        if self._reading is not None and self._reading.is_alive():
            return  # what it reads may be old by now: the next look will show
        try:
            # The stamp comes first: a file that changes in between is read once more.
            stamp = self._stamp()
            if self._entries is not None and stamp == self._seen:
                return
            if stamp is None or size_of(stamp) <= SMALL_BYTES:
                self._read(stamp)
            else:
                self._reading = threading.Thread(target=self._read, args=(stamp,), daemon=True)
                self._reading.start()
        except Exception as error:
            self._lose(error)

    def _read(self, stamp: Stamp | None) -> None:
        """Take the keys that are in the file now."""
        try:
            self._entries = entries_of(read_records(self.path))
            self._seen = stamp
        except Exception as error:
            self._lose(error)

    def _lose(self, error: Exception) -> None:
        """Have no keys, whatever went wrong: those that may be revoked open nothing."""
        if self._entries is not None:
            quotes_nothing = isinstance(error, (ValueError, OSError))
            logger.error("nobody gets in: %s", error if quotes_nothing else type(error).__name__)
        self._entries = None

    def _stamp(self) -> Stamp | None:
        """Return what changes when the file does: its content, its mode or its owner."""
        try:
            info = os.stat(self.path)
        except FileNotFoundError:
            return None
        return info.st_size, info.st_dev, info.st_ino, info.st_ctime_ns


def size_of(stamp: Stamp) -> int:
    """Return how many bytes the file has."""
    return stamp[0]


def entries_of(records: Records) -> dict[str, Entry]:
    """Return the keys by id, ready to be compared with."""
    return {
        identity: Entry(
            Client(identity, record.role, record.requests_per_second, record.rows_per_day),
            bytes.fromhex(record.sha256),
            record.valid_until,
        )
        for identity, record in records.items()
    }
