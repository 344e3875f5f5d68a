"""What operators see of a service: counts, one log line and one span for each request.

Everything here is told from a `Visit` and from times, never from rows, scores or texts. Figures
about privacy leave only as counts over many requests.
"""

from __future__ import annotations

# First: it says where workers count, which must be known when prometheus_client is imported.
from dynaserve.serving.telemetry.folder import use_own_folder

use_own_folder()

from dynaserve.serving.telemetry.counts import count_call  # noqa: E402
from dynaserve.serving.telemetry.exposition import metrics, start_metrics  # noqa: E402
from dynaserve.serving.telemetry.ids import request_id  # noqa: E402
from dynaserve.serving.telemetry.logs import configure_logs  # noqa: E402
from dynaserve.serving.telemetry.observer import Observer  # noqa: E402
from dynaserve.serving.telemetry.repeats import Repeats  # noqa: E402

__all__ = [
    "Observer",
    "Repeats",
    "configure_logs",
    "count_call",
    "metrics",
    "request_id",
    "start_metrics",
]
