"""The head of an answer written together with what follows it.

uvicorn writes the head as soon as it is there, and the body after it. For each of the two the
kernel wakes the client, which can take longer than all the rest of a small request. Nothing here
may look at what is written.
"""

from __future__ import annotations

import asyncio
from typing import Any

HEAD_BYTES = 4096
"""What is longer waits for nothing."""
JOINED_BYTES = 2**20
"""What is longer is not copied to be written with what waits for it."""


class OneWrite:
    """A transport that holds a short write back for the next one, in one turn of the event loop.

    Parameters
    ----------
    transport : asyncio.Transport
        What writes; all else that it does is done by it.
    loop : asyncio.AbstractEventLoop
        Whose turns these are.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: bytes | bytearray | memoryview = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write at once, or before the event loop waits for anything."""
        if self._held and len(data) <= JOINED_BYTES:
            data, self._held = b"".join((self._held, data)), b""
        elif not self._held and len(data) <= HEAD_BYTES:
            self._held = data
            self._loop.call_soon(self._flush)
            return
        self._flush()
        self._transport.write(data)

    def get_write_buffer_size(self) -> int:
        """Return how many bytes are still to be written."""
        return self._transport.get_write_buffer_size() + len(self._held)

    def close(self) -> None:
        """Write what is held, and close when all is written."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        held, self._held = self._held, b""
        if held and not self._transport.is_closing():
            self._transport.write(held)
