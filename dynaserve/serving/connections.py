"""Connections that no client may hold open by being slow.

uvicorn waits for the head of a request, and for its answer to be read, as long as its client likes,
so that a few slow clients could take every file descriptor (a "slow loris"), and keeps all of a
head that grows. Here a client has seconds for either, and 64 KiB for a head; of the body, the
limits of requests take care (``bounded``).

BentoML leaves the choice of the protocol to uvicorn, which looks it up by name: `install` puts this
one there. Nothing here may look at a request.
"""

from __future__ import annotations

import asyncio
import fcntl
import sys
import termios
from contextlib import suppress
from typing import Any

from uvicorn import config
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_SECONDS = 10.0
READ_SECONDS = 30.0
"""In which a client has to take some of what waits for it, over and over until it has all."""
MAX_FRAME = 64 * 2**10
"""Bytes of a request that are not its body: its head, the lengths of its chunks, its trailers."""
CHUNK_FRAME = 8
"""More than the bytes around a chunk of one byte: what a byte of a body excuses."""
MAX_PIPELINED = 16
"""Requests that wait on one connection for the one before to be answered."""


class PromptProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type] # chosen at run time
    """uvicorn's protocol, with limits to how long a client may take, and to what it may send.

    Trailers are dropped: uvicorn would take them for headers, after these were judged.
    """

    _in_head = True
    _frame = 0
    _head_ends: asyncio.TimerHandle | None = None
    _looks: asyncio.TimerHandle | None = None
    _untaken = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start to wait."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait on, or no longer if the head of a request is whole."""
        self._frame += len(data)
        super().data_received(data)
        if self._frame > MAX_FRAME or len(getattr(self, "pipeline", ())) > MAX_PIPELINED:
            self.transport.abort()
        elif self.is_busy():
            self._wait_no_more()
        elif self._head_ends is None and not self.transport.is_closing():
            self._wait()

    def on_message_begin(self) -> None:
        """Begin to count."""
        self._in_head, self._frame = True, 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, and no trailer."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Take what follows for the body."""
        self._in_head, self._frame = False, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count what belongs to a body out."""
        self._frame = max(0, self._frame - CHUNK_FRAME * len(body))
        super().on_body(body)

    def pause_writing(self) -> None:
        """Look whether the client reads: there is as much for it as is kept for one."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Look on, for the little that is left."""
        super().resume_writing()
        self._watch()

    def on_response_complete(self) -> None:
        """Look whether the client reads its answer, if it is to be the last one or was slow."""
        super().on_response_complete()
        if self._looks is not None or self.transport.is_closing():
            self._watch()

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection, unless its client still reads: it is not idle then."""
        if not self.transport.get_write_buffer_size():
            super().timeout_keep_alive_handler()
            return
        if self._looks is None:
            self._watch()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._wait_no_more()
        self._watch_no_more()
        super().connection_lost(exc)

    def is_busy(self) -> bool:
        """Whether a request is being answered."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _wait(self) -> None:
        self._head_ends = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _wait_no_more(self) -> None:
        if self._head_ends is not None:
            self._head_ends.cancel()
            self._head_ends = None

    def _watch(self) -> None:
        """Look in ``READ_SECONDS`` whether the client has taken some of what waits for it now."""
        self._watch_no_more()
        if self.transport.get_write_buffer_size():
            self._untaken = untaken(self.transport)
            self._looks = self.loop.call_later(READ_SECONDS, self._look)

    def _watch_no_more(self) -> None:
        if self._looks is not None:
            self._looks.cancel()
            self._looks = None

    def _look(self) -> None:
        self._looks = None
        if self.transport.get_write_buffer_size() and untaken(self.transport) >= self._untaken:
            self.transport.abort()
        else:
            self._watch()

    def _give_up(self) -> None:
        self._head_ends = None
        if not self.is_busy():
            self.transport.abort()


def untaken(transport: asyncio.Transport) -> int:
    """Return how many bytes wait for a client, here and in the kernel.

    The kernel takes more from here only when a third of its own room is free, which can be a
    megabyte: to a slow client nothing would seem to go out for a long time.
    """
    waiting = transport.get_write_buffer_size()
    with suppress(OSError, ValueError):  # no socket that can tell, or one that is closed
        descriptor = transport.get_extra_info("socket").fileno()
        found = fcntl.ioctl(descriptor, termios.TIOCOUTQ, bytes(4))
        waiting += int.from_bytes(found, sys.byteorder)
    return waiting


def install() -> None:
    """Have the servers that this process starts from now on use it."""
    config.HTTP_PROTOCOLS["auto"] = f"{__name__}:{PromptProtocol.__name__}"
