"""How Prometheus gets the counts of all workers, from any of them or from the supervisor.

Counters of dead workers stay in the sum, or it would fall. Their gauges do not: nothing is in
flight there any more, and a worker that was killed could not say so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from prometheus_client import CollectorRegistry, Metric, start_http_server
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample
from starlette.requests import Request
from starlette.responses import Response

from dynaserve.serving.telemetry.counts import REGISTRY
from dynaserve.serving.telemetry.folder import CLIENT_FOLDER, make_own_folder


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
        The address is none, or cannot be had.
    """
    folder = make_own_folder()
    if address is not None:
        serve_metrics(address, folder)


def serve_metrics(address: str, folder: str) -> int:
    """Serve the counts in ``folder`` at ``HOST:PORT``, and return the port; 0 takes a free one."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError("metrics: write HOST:PORT, such as 127.0.0.1:9090")
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


class Workers(Collector):
    """Adds up the files of all workers."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def collect(self) -> Iterable[Metric]:
        """Return the sums, without the gauges of workers that are gone."""
        self.bury()
        # prometheus_client is typed, but not here.
        found: Iterable[Metric] = MultiProcessCollector(None, self.folder).collect()  # type: ignore[no-untyped-call]
        for metric in found:
            if metric.type == "histogram":
                metric.samples.sort(key=place)
            yield metric

    def bury(self) -> None:
        """Remove the gauges of dead workers."""
        for file in Path(self.folder).glob("gauge_live*_*.db"):
            pid = int(file.stem.rpartition("_")[2])
            if not is_alive(pid):
                mark_process_dead(pid, self.folder)  # type: ignore[no-untyped-call]


def is_alive(pid: int) -> bool:
    """Whether there is such a process, whoever's."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def place(sample: Sample) -> tuple[list[tuple[str, str]], str]:
    """Return a key that orders a histogram's samples as the formats want: buckets, count, sum."""
    labels = sorted(item for item in sample.labels.items() if item[0] != "le")
    return labels, sample.name
