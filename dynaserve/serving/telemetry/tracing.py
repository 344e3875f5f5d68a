"""OpenTelemetry spans of requests, built when a request has ended.

They are made out of the times that were measured anyway, so that nothing of OpenTelemetry is on
the way of a request. A span holds the route, never the path that was asked for, no query, no
header and no address of a client.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Iterable, MutableMapping
from typing import Any

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import (
    Span,
    SpanKind,
    StatusCode,
    format_trace_id,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from dynaserve._version import __version__
from dynaserve.serving.visit import UNKNOWN, Visit

TRACE_HEADER = b"traceparent"
"""Ids and one bit. `tracestate` is text of a client's own, and would go to the collector."""
W3C = TraceContextTextMapPropagator()
CLOSE_SECONDS = 3.0
"""How long the end of a worker may wait for a collector."""


class Tracing:
    """Builds spans, and sends them in batches from a thread.

    Parameters
    ----------
    url : str or None
        Where to, in full; None is what the environment says.
    service : str
        Its name in traces, unless the environment says another.
    """

    def __init__(self, url: str | None, service: str) -> None:
        ours = Resource.create(
            {
                "service.name": service,
                "service.version": __version__,
                "service.instance.id": str(uuid.uuid4()),
                "process.pid": os.getpid(),
            }
        )
        self.provider = TracerProvider(
            resource=ours.merge(OTELResourceDetector().detect()),
            shutdown_on_exit=False,  # a worker ends by a signal, after `close`
        )
        self.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
        self.tracer = self.provider.get_tracer("dynaserve", __version__)

    def record(
        self, scope: MutableMapping[str, Any], visit: Visit, method: str, seconds: float
    ) -> str:
        """Hand over the spans of a request that has just ended, and return the id of its trace.

        The client's trace goes on where a ``traceparent`` names one.
        """
        end = time.time_ns()
        span = self.tracer.start_span(
            method if visit.endpoint == UNKNOWN else f"{method} {visit.endpoint}",
            context=client_trace(scope["headers"]),
            kind=SpanKind.SERVER,
            start_time=end - nanoseconds(seconds),
            attributes=attributes_of(scope, visit, method),
        )
        if visit.status >= 500:
            span.set_status(StatusCode.ERROR)
        if visit.model and span.is_recording():
            self.record_parts(span, visit, end)
        span.end(end)
        return format_trace_id(span.get_span_context().trace_id)

    def record_parts(self, span: Span, visit: Visit, end: int) -> None:
        """Add queue, model and defense, in their measured length, laid end to end before ``end``.

        When each began was not measured; what comes after them is only the writing of the answer.
        """
        inside = set_span_in_context(span, Context())
        parts = {"queue": visit.queue, "model": visit.model, "defense": visit.defense}
        at = end - sum(map(nanoseconds, parts.values()))
        for name, seconds in parts.items():
            part = self.tracer.start_span(name, context=inside, start_time=at)
            at += nanoseconds(seconds)
            part.end(at)

    def close(self) -> None:
        """Send what is left, and stop; give up soon if the collector does not answer."""
        closing = threading.Thread(target=self.provider.shutdown, daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)


def client_trace(headers: Iterable[tuple[bytes, bytes]]) -> Context:
    """Return the context of the trace that a request belongs to (W3C Trace Context)."""
    carrier = {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in headers
        if name == TRACE_HEADER
    }
    # An empty context: nothing that runs around the end of a request is part of its trace.
    return W3C.extract(carrier, context=Context())


def attributes_of(
    scope: MutableMapping[str, Any], visit: Visit, method: str
) -> dict[str, str | int]:
    """Return those of HTTP's semantic conventions that tell nothing of what was asked, and ours."""
    attributes: dict[str, str | int] = {
        "http.request.method": method,
        "http.response.status_code": visit.status,
        "url.scheme": scope.get("scheme", "http"),
        "network.protocol.version": scope.get("http_version", "1.1"),
        "dynaserve.request_id": visit.id,
        "dynaserve.rows": visit.rows,
    }
    if visit.endpoint != UNKNOWN:
        attributes["http.route"] = visit.endpoint
    if visit.refused is not None:
        attributes["dynaserve.refused"] = visit.refused
    if visit.status >= 500:
        attributes["error.type"] = visit.refused or str(visit.status)
    return attributes


def nanoseconds(seconds: float) -> int:
    """Return whole nanoseconds."""
    return round(seconds * 1e9)
