"""Whether requests become OpenTelemetry spans: only for those who name a collector.

Without one nothing of OpenTelemetry is imported here, and nothing of it runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from typing import Any, Protocol

from dynaserve.serving.visit import Visit

SIGNAL_PATH = "/v1/traces"


class Spans(Protocol):
    """What makes spans of requests; ``tracing`` has the one there is."""

    def record(
        self, scope: MutableMapping[str, Any], visit: Visit, method: str, seconds: float
    ) -> str:
        """Hand over the spans of a request that has just ended, and return the id of its trace."""

    def close(self) -> None:
        """Send what is left, and stop."""


def spans_to(endpoint: str | None, service: str) -> Spans | None:
    """Return what sends spans to an OTLP/HTTP endpoint; None where there is none.

    Parameters
    ----------
    endpoint : str or None
        Base URL, such as ``http://127.0.0.1:4318``, or the full one that ends in ``/v1/traces``.
        None takes ``OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`` or ``OTEL_EXPORTER_OTLP_ENDPOINT``.
    service : str
        Its name, unless ``OTEL_SERVICE_NAME`` says another.

    Raises
    ------
    ValueError
        The environment asks for gRPC.
    ImportError
        The exporter is not installed.
    """
    url = None
    if endpoint is not None:
        url = endpoint.rstrip("/").removesuffix(SIGNAL_PATH) + SIGNAL_PATH
    elif not asked_for(os.environ):
        return None
    try:
        from dynaserve.serving.telemetry.tracing import Tracing  # noqa: PLC0415 - only if wanted
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith("opentelemetry"):
            raise
        raise ModuleNotFoundError(
            "traces need OpenTelemetry's exporter: pip install 'dynaserve[serve]'",
            name=missing.name,
        ) from None
    return Tracing(url, service)


def asked_for(environment: Mapping[str, str]) -> bool:
    """Whether OpenTelemetry's own variables name a collector that can be spoken to."""

    def of_traces(name: str) -> str:
        own = environment.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}")
        return own or environment.get(f"OTEL_EXPORTER_OTLP_{name}", "")

    disabled = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if disabled or environment.get("OTEL_TRACES_EXPORTER") == "none" or not of_traces("ENDPOINT"):
        return False
    if of_traces("PROTOCOL") == "grpc":
        raise ValueError(
            "OTEL_EXPORTER_OTLP_PROTOCOL is grpc; spans go by http/protobuf only, which collectors "
            "take at port 4318"
        )
    return True
