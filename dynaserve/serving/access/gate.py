"""The gate in front of a service: who asks, may they, and how often; before anything is read.

ASGI middleware. It may not read a body, and it never raises: BentoML lets a request hang whose
middleware does.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from dynaserve.serving.access.errors import ForbiddenError, UnauthenticatedError
from dynaserve.serving.access.local import require_local
from dynaserve.serving.access.presented import presented_key
from dynaserve.serving.access.records import default_path
from dynaserve.serving.access.ring import Client, KeyRing
from dynaserve.serving.models.imports import require
from dynaserve.serving.refusals import failure, refusal
from dynaserve.serving.refused import RefusedError
from dynaserve.serving.settings import ServiceSettings, variable
from dynaserve.serving.visit import visit_of
from dynaserve.state import state_directory

logger = logging.getLogger(__name__)

HEALTH = frozenset({"/livez", "/readyz", "/healthz", "/v2/health/live", "/v2/health/ready"})
"""Say yes or no, to anybody: what watches over a service has no key."""
METRICS = "/metrics"
"""For ``monitor`` keys, which open nothing else, and which alone open it."""
CHALLENGE = {"www-authenticate": "Bearer"}
KEYLESS = "DYNASERVE_KEYLESS_PID"
"""A supervisor that has decided for its workers that there are no keys."""


def key_file(settings: ServiceSettings) -> Path | None:
    """Return the file of API keys; None where there is none, and this machine alone gets in."""
    if settings.keys is not None:
        return Path(settings.keys)
    if os.environ.get(KEYLESS) == str(os.getppid()):
        return None
    return default_path() if default_path().exists() else None


def decide_keys(settings: ServiceSettings) -> None:
    """Have the workers that this process will start do as it does now, with keys or without.

    One that starts when a file of keys has come must not ask for keys while others answer without,
    and one that starts when it is gone must not do without. What a parent decided for workers of
    its own holds here only if it has keys.
    """
    os.environ.pop(KEYLESS, None)
    if keys := key_file(settings):
        os.environ[variable("keys")] = str(keys)
    else:
        os.environ[KEYLESS] = str(os.getpid())


def has_limits(settings: ServiceSettings) -> bool:
    """Whether keys have limits that have none of their own."""
    return (settings.requests_per_second, settings.rows_per_day) != (None, None)


class Gate:
    """Middleware that lets in who may come in.

    Parameters
    ----------
    app : ASGI app
        What is behind it. It finds the client's id and ``spend`` in the request's visit.
    settings : ServiceSettings
        Where the keys are, the limits of those that have none of their own, and where is counted.

    Raises
    ------
    ValueError, OSError, ImportError
        The keys or the store cannot be used, or there are limits and no keys to hold them for.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings) -> None:
        self.app = app
        path = key_file(settings)
        self.door: Door | None = None
        if path is not None:
            self.door = Door(settings, KeyRing(path))
        elif has_limits(settings):
            raise ValueError(
                "requests_per_second and rows_per_day limit API keys, and there are none; make "
                "some with 'dynaserve keys create NAME'"
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        answer = self.app
        if scope["type"] == "http":
            answer = await self._refused(scope) or self.app
        elif scope["type"] != "lifespan":
            answer = WebSocketClose()  # nothing here speaks it
        await answer(scope, receive, send)
        if scope["type"] == "lifespan" and self.door is not None:
            await self.door.store.close()

    async def _refused(self, scope: Scope) -> ASGIApp | None:
        """Return what to answer to somebody who may not come in."""
        if scope["path"] in HEALTH:
            return None
        try:
            if self.door is None:
                require_local(scope)
            else:
                await self.door.admit(scope)
        except UnauthenticatedError as error:
            return refusal(scope, error, CHALLENGE)
        except RefusedError as error:
            return refusal(scope, error)
        except Exception as error:
            logger.error("access failed, nobody gets in: %s", type(error).__name__)
            return failure(scope, "access could not be checked")
        return None


class Door:
    """What a key opens."""

    def __init__(self, settings: ServiceSettings, ring: KeyRing) -> None:
        require("limits", extra="serve")
        from dynaserve.serving.access.ledger import Ledger  # noqa: PLC0415 - limits, if needed
        from dynaserve.serving.access.stores import open_store  # noqa: PLC0415

        self.settings = settings
        self.ring = ring
        if settings.state is None and (has_limits(settings) or ring.has_limits):
            state_directory()  # one that cannot be made is better said now
        self.store = open_store(settings.state)
        self.ledger = Ledger(self.store.storage)

    async def admit(self, scope: Scope) -> None:
        """Let a request pass whose key may make it now, and tell its visit whose it is.

        Raises
        ------
        RefusedError
            It may not come in.
        """
        presented = presented_key(scope["headers"])
        if presented is None:
            raise UnauthenticatedError
        client = self.ring.client_of(presented)
        visit = visit_of(scope)
        visit.client = client.id
        is_metrics = scope["path"] == METRICS
        if is_metrics != (client.role == "monitor"):
            raise ForbiddenError(
                "the metrics are for monitor keys ('dynaserve keys create NAME --monitor')"
                if is_metrics
                else f"this key is for {METRICS} alone"
            )
        if is_metrics:
            return
        rate = client.requests_per_second or self.settings.requests_per_second
        if rate is not None:
            await self.ledger.take_request(client.id, rate)
        if (spend := self.spend_of(client)) is not None:
            visit.spend = spend

    def spend_of(self, client: Client) -> Callable[[int], Awaitable[None]] | None:
        """Return what takes rows from a client's budget, if it has one."""
        budget = client.rows_per_day or self.settings.rows_per_day
        return None if budget is None else partial(self.ledger.take_rows, client.id, budget)
