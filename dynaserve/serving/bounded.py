"""How many requests a worker has at a time, and how long each may take: in all, and to arrive.

What is over ends in one form, whoever answers: 503, 408 or 504. BentoML's own limits answer in
another form, and leave the time that a body takes without one.

A request is on its way in, then answered, then on its way out until its client has taken most of
the answer. What is on its way and slow gives way to others: where there is no room, the slowest
goes. Who it is of matters only between clients with keys. Without keys all are of this machine, and
an address would tell them apart no better. How long a client may read is for ``connections``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dynaserve.serving.deadline import Deadline
from dynaserve.serving.refusals import refusal
from dynaserve.serving.refused import LateError, LaterError, RefusedError
from dynaserve.serving.visit import visit_of

COME_BACK_SECONDS = 1
BODY_HEADERS = (b"content-length", b"transfer-encoding")
SLOW_SECONDS = 1.0
"""How long a body may be on its way before its request can be made to give way."""
HEAD_BYTES = 64 * 2**10
"""What a request counts for before its body: its head, and what the server reads ahead."""
ROOM_BYTES = 512 * 2**20
"""Of all requests that a worker has at a time, unless a lone one is larger."""


class OverloadedError(LaterError):
    """There is as much as may be."""

    reason = "busy"

    def __init__(self, what: str) -> None:
        super().__init__(f"the server {what}; come back later", COME_BACK_SECONDS)


class SlowError(RefusedError):
    """The request did not come whole in time."""

    status = HTTPStatus.REQUEST_TIMEOUT
    reason = "slow"


def now() -> float:
    """Return seconds by the event loop's clock."""
    return asyncio.get_running_loop().time()


class Place:
    """What one request takes of the room there is: on its way, or among those being answered."""

    def __init__(self, bounded: Bounded, client: str | None, *, whole: bool) -> None:
        self.bounded, self.client, self.whole = bounded, client, whole
        self.taken = self.gave_way = False
        self.bytes = 0
        self.since = now()
        seconds = bounded.seconds if whole else bounded.body_seconds
        self.deadline = Deadline(self.since + seconds)

    def brings(self, message: Message) -> None:
        """Count a message of the request, and the request as whole with its last one.

        Raises
        ------
        OverloadedError
            There is no room.
        """
        bounded = self.bounded
        bounded.hold(self, len(message.get("body", b"")))
        # Whose client has left brings nothing more either, but is not whole.
        if not self.whole and message["type"] == "http.request" and not message.get("more_body"):
            self.deadline.move(self.since + bounded.seconds)
            bounded.leave(self)
            self.whole = True
            bounded.take(self)

    def goes_out(self) -> None:
        """Count the request as answered, and on its way again: its client may be slow to read."""
        self.bounded.leave(self)
        self.bounded.let_go(self)
        self.whole, self.since = False, now()
        self.bounded.add(self)

    def takes_out(self, message: Message) -> None:
        """Count a message of the answer; without room for it, the request gives way."""
        try:
            self.bounded.hold(self, len(message.get("body", b"")))
        except OverloadedError:
            self.give_way()

    def pace(self) -> float:
        """Return bytes a second; a request that has just begun is not slow."""
        return self.bytes / (self.age() + 1e-3)

    def age(self) -> float:
        """Return seconds since it began to come, or to go."""
        return now() - self.since

    def give_way(self) -> None:
        """Make room for others, and end."""
        self.gave_way = True
        self.bounded.leave(self)
        self.bounded.let_go(self)
        self.deadline.cancel()


class Bounded:
    """ASGI middleware.

    Parameters
    ----------
    max_concurrent : int
        Requests that are being answered at a time. As many of one client may be on their way; one
        more takes the place of the slowest, if that has been on its way for a second.
    seconds : float
        That a request may take, without those in which its client is waited for to read.
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
        self.moving: dict[str | None, set[Place]] = {}
        """Requests on their way, in or out, by client."""
        self.bytes = 0
        """Of all requests that there are."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless there are too many, and end it when its time is over."""
        if scope["type"] != "http" or scope["path"] in self.exempt:
            await self.app(scope, receive, send)
            return
        # What brings no body has come whole.
        whole = not any(name in BODY_HEADERS for name, _ in scope["headers"])
        place = Place(self, visit_of(scope).client, whole=whole)
        try:
            try:
                self.take(place)
                self.hold(place, HEAD_BYTES)
            except OverloadedError as error:
                await refusal(scope, error)(scope, receive, send)
            else:
                await self.in_time(scope, receive, send, place)
        finally:
            self.leave(place)
            self.let_go(place)

    async def in_time(self, scope: Scope, receive: Receive, send: Send, place: Place) -> None:
        """Pass a request on for as long as it may take."""
        started = False

        async def received() -> Message:
            message = await receive()
            place.brings(message)  # or raise, to whoever reads the body
            return message

        async def sent(message: Message) -> None:
            nonlocal started
            if not started:
                started = True
                place.goes_out()
            place.takes_out(message)
            if place.gave_way:
                await asyncio.sleep(0)  # where it ends
            place.deadline.stop()  # this waits for the client
            await send(message)
            place.deadline.resume()

        with place.deadline:
            await self.app(scope, received, sent)
        if place.deadline.caught and not started:
            await refusal(scope, self.over(place))(scope, receive, send)

    def over(self, place: Place) -> RefusedError:
        """Return what to say to a request that was ended."""
        if place.gave_way:
            return OverloadedError("has room for faster requests only")
        if place.whole:
            return LateError(f"not done in {self.seconds:g} seconds; send less at once")
        return SlowError(f"the body did not come in {self.body_seconds:g} seconds; send it again")

    def take(self, place: Place) -> None:
        """Give a request its place.

        Raises
        ------
        OverloadedError
            There is none.
        """
        if place.whole:
            if self.pending >= self.max_concurrent:
                raise OverloadedError(f"is answering {self.pending} requests, the most it takes")
            self.pending += 1
        else:
            places = self.moving.get(place.client, ())
            if (count := len(places)) >= self.max_concurrent:
                slowest = min(places, key=Place.pace)
                if slowest.age() < SLOW_SECONDS:
                    raise OverloadedError(
                        f"has {count} requests of this client on their way, the most it takes"
                    )
                slowest.give_way()
            self.add(place)
            return
        place.taken = True

    def add(self, place: Place) -> None:
        """Count a request among those on their way, however many there are."""
        self.moving.setdefault(place.client, set()).add(place)
        place.taken = True

    def leave(self, place: Place) -> None:
        """Take a request's place back, if it has one."""
        if not place.taken:
            return
        place.taken = False
        if place.whole:
            self.pending -= 1
        else:
            places = self.moving[place.client]
            places.remove(place)
            if not places:
                del self.moving[place.client]

    def hold(self, place: Place, count: int) -> None:
        """Count bytes of a request, for which the slowest of whoever brings the most give way.

        Raises
        ------
        OverloadedError
            That is this one, or none is on its way.
        """
        place.bytes += count
        self.bytes += count
        while self.bytes > ROOM_BYTES and self.bytes > place.bytes:
            heaviest = max(
                self.moving.values(), key=lambda each: sum(one.bytes for one in each), default=()
            )
            slowest = min(heaviest, key=Place.pace, default=place)
            if slowest is place:
                raise OverloadedError("holds as many bytes of requests as it has room for")
            slowest.give_way()

    def let_go(self, place: Place) -> None:
        """Count the bytes of a request no more."""
        self.bytes -= place.bytes
        place.bytes = 0
