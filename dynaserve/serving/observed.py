"""The outermost layer of a service: every request has an id, an end, and an answer.

It makes the visit that everything else fills in, adds the headers that every answer has, and hands
the finished visit on. A layer inside that raises would leave the client waiting with BentoML; here
it becomes a 500 that says nothing.
"""

from __future__ import annotations

import logging
from time import perf_counter

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dynaserve.serving.failures import withheld
from dynaserve.serving.refusals import CLIENT_CLOSED_REQUEST, GONE, failure
from dynaserve.serving.telemetry import Observer, request_id
from dynaserve.serving.visit import KEY, Visit

logger = logging.getLogger(__name__)

HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
"""Of an answer that does not have them already."""
THEIRS = (b"server",)
"""Headers that say what software this is."""


class Observed:
    """ASGI middleware.

    Parameters
    ----------
    observer : Observer
        Gets each visit when it is finished.
    """

    def __init__(self, app: ASGIApp, *, observer: Observer) -> None:
        self.app, self.observer = app, observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever happens."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            if scope["type"] == "lifespan":  # which ends when the worker does
                self.observer.close()
            return
        begun = perf_counter()
        visit = scope[KEY] = Visit(request_id(scope["headers"]))
        self.observer.begin()

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                message["headers"] = complete(message.get("headers", []), visit.id)
            try:
                await send(message)
            except RuntimeError as error:
                if "closed" not in str(error):  # as uvloop says of a connection that was cut off
                    raise
                raise ClientDisconnect from None

        try:
            await self.app(scope, receive, sent)
        except ClientDisconnect:
            visit.refused = GONE
        except Exception as error:
            logger.error("%s", withheld("a request", error))
            if not visit.status:
                await failure(scope, "something went wrong")(scope, receive, sent)
        finally:
            # One that was never answered: its client is gone, or the server is ending.
            visit.status = visit.status or CLIENT_CLOSED_REQUEST
            self.observer.end(scope, visit, perf_counter() - begun)


def complete(headers: list[tuple[bytes, bytes]], identity: str) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer with those that every answer has."""
    kept = [header for header in headers if header[0].lower() not in THEIRS]
    there = {name.lower() for name, _ in kept}
    kept += [header for header in HEADERS if header[0] not in there]
    kept.append((b"x-request-id", identity.encode()))
    return kept
