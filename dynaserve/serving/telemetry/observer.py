"""The end of a request, told three ways: counts, a log line, a span.

Called for each request by the outermost middleware, so what it costs all requests pay: counts are
always kept, a line and a span only where somebody asked for them.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from dynaserve.serving.settings.server import TelemetrySettings
from dynaserve.serving.telemetry.counts import count_begin, count_end, expect_reasons
from dynaserve.serving.telemetry.logs import write_request
from dynaserve.serving.telemetry.spans import Spans, spans_to
from dynaserve.serving.visit import Visit

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"})
OTHER = "_OTHER"
"""What OpenTelemetry calls any further method: a client can make up as many as it likes."""


class Observer:
    """Tells operators of each request of one worker.

    Parameters
    ----------
    settings : TelemetrySettings
        Where to.
    service : str
        Name of the service in traces, such as ``dynaserve-classifier``.

    Raises
    ------
    ValueError
        Spans are wanted by a protocol that is not ours.
    ImportError
        Spans are wanted, and the exporter is not installed.
    """

    def __init__(self, settings: TelemetrySettings, service: str) -> None:
        self.logs = settings.logs == "json"
        self.spans: Spans | None = spans_to(settings.traces, service)
        expect_reasons()

    def begin(self) -> None:
        """Note that a request has come; each is followed by one `end`."""
        count_begin()

    def end(self, scope: MutableMapping[str, Any], visit: Visit, seconds: float) -> None:
        """Tell of a request that has ended.

        Parameters
        ----------
        scope : mapping
            Of ASGI; read are the method, the scheme and the headers of a trace.
        visit : Visit
            With the status that was sent.
        seconds : float
            Since `begin`.
        """
        count_end(visit, seconds)
        if not self.logs and self.spans is None:
            return
        method = scope["method"] if scope["method"] in METHODS else OTHER
        trace_id = self.spans.record(scope, visit, method, seconds) if self.spans else None
        if self.logs:
            write_request(visit, method, seconds, trace_id)

    def close(self) -> None:
        """Send the spans that are still here; for the end of a worker."""
        if self.spans is not None:
            self.spans.close()
