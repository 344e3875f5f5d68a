"""How Prometheus gets the counts of all workers, from any of them or from the supervisor."""

from __future__ import annotations

import os
import socket
import threading
from functools import partial

import anyio
import anyio.to_thread
import uvicorn
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dynaserve.serving.connections import PromptProtocol
from dynaserve.serving.telemetry.counts import REGISTRY
from dynaserve.serving.telemetry.folder import CLIENT_FOLDER, OWN_FOLDER, make_own_folder
from dynaserve.serving.telemetry.workers import Workers

READERS = 4
"""Threads that add up the counts where these have a port of their own."""


def metrics(request: Request) -> Response:
    """Answer with the counts of all workers in Prometheus' text format, or as OpenMetrics.

    A Starlette endpoint; not async, so that Starlette reads the files off the event loop.
    """
    folder = os.environ.get(OWN_FOLDER) or os.environ.get(CLIENT_FOLDER)
    return encoded(registry_of(folder) if folder else REGISTRY, request)


def encoded(registry: CollectorRegistry, request: Request) -> Response:
    """Return what a registry holds, in the format that a request asks for."""
    encode, media_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(registry), media_type=media_type)


def start_metrics(address: str | None) -> None:
    """Prepare, in the supervisor, for workers that count.

    To be called before they start, and in no worker.

    Parameters
    ----------
    address : str or None
        ``HOST:PORT`` to serve the counts of all workers at, from a thread of this process, for as
        long as it lives; None where the workers serve them themselves.

    Raises
    ------
    ValueError
        The address cannot be had.
    """
    folder = make_own_folder()
    if address is not None:
        serve_metrics(address, folder)


def serve_metrics(address: str, folder: str) -> int:
    """Serve the counts in ``folder`` at ``HOST:PORT``, and return the port; 0 takes a free one.

    That it is of this form, the settings have checked. Clients have no more time and room here
    than those of the service (``connections``).
    """
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    try:
        family = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, int(port)), family=family)
    except OSError as error:
        raise ValueError(f"metrics: {address} cannot be listened on: {error}") from None
    threads = anyio.CapacityLimiter(READERS)
    add_up = partial(encoded, registry_of(folder))

    async def endpoint(request: Request) -> Response:
        return await anyio.to_thread.run_sync(add_up, request, limiter=threads)

    app = Starlette(routes=[Route("/metrics", endpoint)])
    app.router.redirect_slashes = False
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            loop="asyncio",
            http=PromptProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
        )
    )
    sockets = {"sockets": [listening]}
    threading.Thread(target=server.run, kwargs=sockets, name="metrics", daemon=True).start()
    return int(listening.getsockname()[1])


def registry_of(folder: str) -> CollectorRegistry:
    """Return a registry of what the workers have counted in a folder, read anew each time."""
    registry = CollectorRegistry()
    registry.register(Workers(folder))
    return registry
