"""Connections that may not be held open by clients who never get to the end of a request.

uvicorn waits for the headers of a request as long as its client likes, so that a few slow clients
could take every file descriptor (a "slow loris"). Here a connection has to bring the head of a
request in ten seconds; of the body, the time limit of requests takes care (``bounded``).

BentoML leaves the choice of the protocol to uvicorn, which looks it up by name: `install` puts this
one there. Nothing here may look at a request.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn import config
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_SECONDS = 10.0


class PromptProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type] # chosen at run time
    """uvicorn's protocol, with a limit to how long a connection may be at the head of a request."""

    _head_ends: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start to wait."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait on, or no longer if the head of a request is whole."""
        super().data_received(data)
        if self.is_busy():
            self._wait_no_more()
        elif self._head_ends is None and not self.transport.is_closing():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._wait_no_more()
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

    def _give_up(self) -> None:
        self._head_ends = None
        if not self.is_busy():
            self.transport.close()


def install() -> None:
    """Have the servers that this process starts from now on use it."""
    config.HTTP_PROTOCOLS["auto"] = f"{__name__}:{PromptProtocol.__name__}"
