"""How many requests a worker has at a time, and how long each may take: in all, and to arrive.

What is over ends in one form, whoever answers: 503, 408 or 504. BentoML's own limits answer in
another form, and leave the time that a body takes without one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from http import HTTPStatus

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dynaserve.serving.refusals import refusal
from dynaserve.serving.refused import LateError, LaterError, RefusedError
from dynaserve.serving.visit import visit_of

COME_BACK_SECONDS = 1
BODY_HEADERS = (b"content-length", b"transfer-encoding")


class OverloadedError(LaterError):
    """There are as many requests as may be."""

    reason = "busy"


class SlowError(RefusedError):
    """The request did not come whole in time."""

    status = HTTPStatus.REQUEST_TIMEOUT
    reason = "slow"


class Place:
    """What one request takes of the room there is: first on its way, then among those answered."""

    def __init__(self, bounded: Bounded, client: str | None) -> None:
        self.bounded, self.client = bounded, client
        self.whole = self.taken = False

    def take(self, *, whole: bool) -> None:
        """Take a place, having left the one before.

        Raises
        ------
        OverloadedError
            There is none.
        """
        self.leave()
        self.whole, most = whole, self.bounded.max_concurrent
        there = self.bounded.pending if whole else self.bounded.arriving[self.client]
        if there >= most:
            what = "is answering" if whole else "is receiving of this client"
            raise OverloadedError(
                f"the server {what} {most} requests, the most it takes; come back later",
                COME_BACK_SECONDS,
            )
        self.taken = True
        self._count(1)

    def leave(self) -> None:
        """Make room."""
        if self.taken:
            self.taken = False
            self._count(-1)

    def _count(self, change: int) -> None:
        if self.whole:
            self.bounded.pending += change
        else:
            self.bounded.arriving[self.client] += change
            if not self.bounded.arriving[self.client]:
                del self.bounded.arriving[self.client]


class Bounded:
    """ASGI middleware.

    Parameters
    ----------
    max_concurrent : int
        Requests at a time that have come whole. As many of one client may be on their way: its
        slow ones take no place from others.
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
        self.arriving: Counter[str | None] = Counter()
        """Requests on their way, by client."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless there are too many, and end it when its time is over."""
        if scope["type"] != "http" or scope["path"] in self.exempt:
            await self.app(scope, receive, send)
            return
        client = visit_of(scope).client
        # What brings no body has come whole.
        whole = not any(name in BODY_HEADERS for name, _ in scope["headers"])
        place = Place(self, client)
        try:
            place.take(whole=whole)
        except OverloadedError as error:
            await refusal(scope, error)(scope, receive, send)
            return
        try:
            await self.in_time(scope, receive, send, place)
        finally:
            place.leave()

    async def in_time(self, scope: Scope, receive: Receive, send: Send, place: Place) -> None:
        """Pass a request on for as long as it may take."""
        now = anyio.current_time()
        started = False
        time_left = anyio.CancelScope(
            deadline=now + (self.seconds if place.whole else self.body_seconds)
        )

        async def received() -> Message:
            message = await receive()
            if not place.whole and not message.get("more_body"):
                time_left.deadline = now + self.seconds
                place.take(whole=True)  # or raise, to whoever reads the body
            return message

        async def sent(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        with time_left:
            await self.app(scope, received, sent)
        if time_left.cancelled_caught and not started:
            await refusal(scope, self.over(whole=place.whole))(scope, receive, send)

    def over(self, *, whole: bool) -> RefusedError:
        """Return what to say when the time is over."""
        if whole:
            return LateError(f"not done in {self.seconds:g} seconds; send less at once")
        return SlowError(f"the body did not come in {self.body_seconds:g} seconds; send it again")
