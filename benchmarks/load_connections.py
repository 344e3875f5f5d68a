"""What becomes of each request on kept connections while a server ends; for Linux.

A server that ends may close a connection right when a client sends on it. HTTP has no way to
avoid that race, and a client may send again, for nobody read the request. What may not happen is
that a request was read and not answered. Two facts of Linux tell one from the other. A kernel
whose process closes a socket with unread bytes in it sends a reset; if all was read, it sends
an ordinary end. And it acknowledges no byte that comes after the close. So of requests without an
answer, one that ended in a reset was not read; one whose bytes were acknowledged before an
ordinary end was.
"""

from __future__ import annotations

import socket
import struct
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from http.client import HTTPException, HTTPResponse
from itertools import pairwise
from threading import Event
from time import monotonic, sleep

from benchmarks.clients import Request

TIMEOUT_SECONDS = 30.0
RETRY_SECONDS = 0.02
ACKED_BYTES = 120
"""Offset of ``tcpi_bytes_acked`` in ``struct tcp_info`` of linux/tcp.h."""


class Outcome(Enum):
    """What became of a request; the value is its name in words."""

    ANSWERED = "answered"
    REFUSED = "answered with an error"
    LOST = "read, not answered"
    UNREAD = "reset unread on a kept connection"
    NEVER_ACCEPTED = "reset unread on a new connection"
    LATE = "sent after the server had closed"
    HUNG = "neither answer nor end in time"
    NO_CONNECTION = "could not connect"


class Connection:
    """A kept connection that notices what becomes of what it sends; it connects when asked."""

    def __init__(self, port: int, request: Request, timeout: float = TIMEOUT_SECONDS) -> None:
        self._port, self._timeout = port, timeout
        self._message = request.message()
        self._socket: socket.socket | None = None

    def ask(self) -> Outcome:
        """Send the request and wait for what becomes of it."""
        is_new = self._socket is None
        if self._socket is None:
            try:
                self._socket = socket.create_connection(("127.0.0.1", self._port), self._timeout)
            except OSError:
                return Outcome.NO_CONNECTION
        acked = _acked_bytes(self._socket)
        try:
            self._socket.sendall(self._message)
            response = HTTPResponse(self._socket, method="POST")
            response.begin()
            response.read()
        except TimeoutError:
            outcome = Outcome.HUNG
        except (HTTPException, OSError) as error:
            taken = _acked_bytes(self._socket) - acked >= len(self._message)
            outcome = _without_answer(error, taken=taken, is_new=is_new)
        else:
            if not response.will_close:
                return _with_answer(response)
            outcome = _with_answer(response)
        self.close()
        return outcome

    @property
    def local_port(self) -> int:
        """The port at this end, by which a server's process can be found; 0 if not connected."""
        return 0 if self._socket is None else int(self._socket.getsockname()[1])

    def close(self) -> None:
        """Close the connection; the next request opens another one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _with_answer(response: HTTPResponse) -> Outcome:
    return Outcome.ANSWERED if response.status == 200 else Outcome.REFUSED


def _without_answer(error: Exception, *, taken: bool, is_new: bool) -> Outcome:
    # RemoteDisconnected, an ordinary end, is a ConnectionResetError too.
    if isinstance(error, OSError) and not isinstance(error, HTTPException):
        return Outcome.NEVER_ACCEPTED if is_new else Outcome.UNREAD
    return Outcome.LOST if taken else Outcome.LATE


def _acked_bytes(connection: socket.socket) -> int:
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, ACKED_BYTES + 8)
    (found,) = struct.unpack_from("@Q", info, ACKED_BYTES)
    return int(found)


@dataclass
class Tally:
    """What became of the requests of one client."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    answered_at: list[float] = field(default_factory=list)
    """By the monotonic clock, in seconds."""


class Crowd:
    """Clients that ask without a pause, each on a thread and a connection of its own.

    Parameters
    ----------
    port, request, count
        Whom to ask, what, and how many clients.
    persistent
        Whether a client that cannot connect tries again; else it leaves.
    """

    def __init__(self, port: int, request: Request, count: int, *, persistent: bool) -> None:
        self._stop, self._persistent = Event(), persistent
        self._threads = ThreadPoolExecutor(count)
        self._tallies: list[Future[Tally]] = [
            self._threads.submit(self._loop, Connection(port, request)) for _ in range(count)
        ]

    def _loop(self, connection: Connection) -> Tally:
        tally = Tally()
        while not self._stop.is_set():
            outcome = connection.ask()
            tally.outcomes[outcome] += 1
            if outcome is Outcome.ANSWERED:
                tally.answered_at.append(monotonic())
            elif outcome is Outcome.NO_CONNECTION:
                if not self._persistent:
                    break
                sleep(RETRY_SECONDS)
        connection.close()
        return tally

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._threads.shutdown()

    def is_done(self) -> bool:
        """Say whether every client has left by itself."""
        return all(each.done() for each in self._tallies)

    def stop(self) -> Tally:
        """Let every client finish its request; return what became of them all."""
        self._stop.set()
        together = Tally()
        for each in self._tallies:
            tally = each.result()
            together.outcomes += tally.outcomes
            together.answered_at += tally.answered_at
        together.answered_at.sort()
        return together


def longest_pause(answered_at: list[float]) -> float:
    """Return the longest time in which nobody got an answer, of sorted times."""
    return max((b - a for a, b in pairwise(answered_at)), default=0.0)


def can_connect(port: int) -> bool:
    """Say whether somebody listens."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
