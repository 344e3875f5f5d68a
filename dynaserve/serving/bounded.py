"""How many requests a worker has at a time, and how long each may take: in all, and to arrive.

What is over ends in one form, whoever answers: 503, 408 or 504. BentoML's own limits answer in
another form, and leave the time that a body takes without one.
"""

from __future__ import annotations

from collections.abc import Collection
from http import HTTPStatus

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dynaserve.serving.refusals import refusal
from dynaserve.serving.requests import LateError, LaterError, RefusedError

COME_BACK_SECONDS = 1
BODY_HEADERS = (b"content-length", b"transfer-encoding")


class OverloadedError(LaterError):
    """There are as many requests as may be."""

    reason = "busy"


class SlowError(RefusedError):
    """The request did not come whole in time."""

    status = HTTPStatus.REQUEST_TIMEOUT
    reason = "slow"


class Bounded:
    """ASGI middleware.

    Parameters
    ----------
    max_concurrent : int
        Requests at a time.
    seconds : float
        That a request may take.
    body_seconds : float
        That its body may take to come, of these.
    exempt : set of str
        Paths that are always answered: a service that is busy is not to be taken for a dead one.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        max_concurrent: int,
        seconds: float,
        body_seconds: float,
        exempt: Collection[str] = (),
    ) -> None:
        self.app = app
        self.max_concurrent = max_concurrent
        self.seconds, self.body_seconds = seconds, min(body_seconds, seconds)
        self.exempt = frozenset(exempt)
        self.pending = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless there are too many, and end it when its time is over."""
        if scope["type"] != "http" or scope["path"] in self.exempt:
            await self.app(scope, receive, send)
        elif self.pending >= self.max_concurrent:
            error = OverloadedError(
                f"the server is answering {self.max_concurrent} requests, the most it takes; "
                "come back later",
                COME_BACK_SECONDS,
            )
            await refusal(scope, error)(scope, receive, send)
        else:
            self.pending += 1
            try:
                await self.in_time(scope, receive, send)
            finally:
                self.pending -= 1

    async def in_time(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on for as long as it may take."""
        now = anyio.current_time()
        # What brings no body has come whole.
        arrived = not any(name in BODY_HEADERS for name, _ in scope["headers"])
        started = False
        time_left = anyio.CancelScope(
            deadline=now + (self.seconds if arrived else self.body_seconds)
        )

        async def received() -> Message:
            nonlocal arrived
            message = await receive()
            if not arrived and not message.get("more_body"):
                arrived = True
                time_left.deadline = now + self.seconds
            return message

        async def sent(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        with time_left:
            await self.app(scope, received, sent)
        if time_left.cancelled_caught and not started:
            await refusal(scope, self.over(arrived=arrived))(scope, receive, send)

    def over(self, *, arrived: bool) -> RefusedError:
        """Return what to say when the time is over."""
        if arrived:
            return LateError(f"not done in {self.seconds:g} seconds; send less at once")
        return SlowError(f"the body did not come in {self.body_seconds:g} seconds; send it again")
