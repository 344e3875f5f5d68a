"""How Prometheus gets the counts of all workers, from any of them or from the supervisor."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.exposition import choose_encoder
from starlette.requests import Request
from starlette.responses import Response

from dynaserve.serving.telemetry.counts import REGISTRY
from dynaserve.serving.telemetry.folder import CLIENT_FOLDER, make_own_folder
from dynaserve.serving.telemetry.workers import Workers


def metrics(request: Request) -> Response:
    """Answer with the counts of all workers in Prometheus' text format, or as OpenMetrics.

    A Starlette endpoint; not async, so that Starlette reads the files off the event loop.
    """
    folder = os.environ.get(CLIENT_FOLDER)
    registry = registry_of(folder) if folder else REGISTRY
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

    That it is of this form, the settings have checked.
    """
    host, _, port = address.rpartition(":")
    try:
        server, _ = start_http_server(
            int(port), host.removeprefix("[").removesuffix("]"), registry_of(folder)
        )
    except (OSError, OverflowError) as error:
        raise ValueError(f"metrics: {address} cannot be listened on: {error}") from None
    return int(server.server_port)


def registry_of(folder: str) -> CollectorRegistry:
    """Return a registry of what the workers have counted in a folder, read anew each time."""
    registry = CollectorRegistry()
    registry.register(Workers(folder))
    return registry
