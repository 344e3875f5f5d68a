"""The counts, each in one place, and the three moments at which they change.

Labels hold names that the code chose: routes, status codes, reasons, phases. None may hold what a
client chose, not even a client's id, and no count is of one query. Labelled children are kept at
hand, because looking one up takes as long as counting.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from dynaserve import _core
from dynaserve.serving.access.errors import BudgetError
from dynaserve.serving.refusals import FAILED, GONE
from dynaserve.serving.refused import RefusedError
from dynaserve.serving.visit import Visit

REGISTRY = CollectorRegistry()
"""Ours alone, so that a second import of this module meets no metrics of the first."""

REQUEST_SECONDS = (
    *(0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    *(1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0),
)
PHASE_SECONDS = (0.00001, 0.00002, 0.00005, 0.0001, *REQUEST_SECONDS[:-2])
BATCH_ROWS = tuple(2.0**power for power in range(15))

LUMP_ROWS = 1000
"""Fewest rows that repeats and kept labels are told of."""

REQUESTS = Counter(
    "dynaserve_requests",
    "HTTP requests that ended, by route and status code.",
    ["endpoint", "status"],
    registry=REGISTRY,
)
SECONDS = Histogram(
    "dynaserve_request_seconds",
    "Time from a request's head to when its answer was handed to the connection.",
    ["endpoint"],
    registry=REGISTRY,
    buckets=REQUEST_SECONDS,
)
PHASES = Histogram(
    "dynaserve_phase_seconds",
    "Parts of the time of requests that reached the model.",
    ["phase"],
    registry=REGISTRY,
    buckets=PHASE_SECONDS,
)
ROWS_OF_CALL = Histogram(
    "dynaserve_batch_rows",
    "Rows in one call of the model, over the requests that share it.",
    registry=REGISTRY,
    buckets=BATCH_ROWS,
)
REJECTED_REQUESTS = Counter(
    "dynaserve_rejected_requests",
    "Requests that were refused or failed, by reason.",
    ["reason"],
    registry=REGISTRY,
)
REJECTED_ROWS = Counter(
    "dynaserve_rejected_rows",
    "Rows of such requests, where they had been counted.",
    ["reason"],
    registry=REGISTRY,
)
BUDGET_REFUSALS = Counter(
    "dynaserve_budget_refusals",
    "Requests refused because too few of the client's rows of the day are left; without those that "
    "alone are larger than a day, which are too_large.",
    registry=REGISTRY,
)
REPEATED_ROWS = Counter(
    "dynaserve_repeated_rows",
    "Rows that the same worker had answered not long before.",
    registry=REGISTRY,
)
LABELS_KEPT = Counter(
    "dynaserve_labels_kept",
    "Rows whose label the noise had moved and top-1 protection gave back.",
    registry=REGISTRY,
)
IN_FLIGHT = Gauge(
    "dynaserve_requests_in_flight",
    "HTTP requests being answered, over the workers that are alive.",
    registry=REGISTRY,
    multiprocess_mode="livesum",
)
IN_FLIGHT.set(0)  # a worker may get the process id of one that was killed, and its file

QUEUE, MODEL, DEFENSE = (PHASES.labels(phase) for phase in ("queue", "model", "defense"))


@functools.cache
def requests_of(endpoint: str, status: int) -> Counter:
    """Return the child of ``dynaserve_requests_total``."""
    return REQUESTS.labels(endpoint, str(status))


@functools.cache
def seconds_of(endpoint: str) -> Histogram:
    """Return the child of ``dynaserve_request_seconds``."""
    return SECONDS.labels(endpoint)


@functools.cache
def rejected_of(reason: str) -> tuple[Counter, Counter]:
    """Return the children of ``dynaserve_rejected_requests_total`` and ``..._rows_total``."""
    return REJECTED_REQUESTS.labels(reason), REJECTED_ROWS.labels(reason)


def expect_reasons() -> None:
    """Start the count of each known reason at 0: Prometheus sees no rate in a first 1."""
    kinds = [RefusedError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    for reason in (FAILED, GONE, *(kind.reason for kind in kinds)):
        rejected_of(reason)


def count_begin() -> None:
    """Count a request that comes in."""
    IN_FLIGHT.inc()


def count_end(visit: Visit, seconds: float) -> None:
    """Count a request that ended after ``seconds``."""
    IN_FLIGHT.dec()
    requests_of(visit.endpoint, visit.status).inc()
    seconds_of(visit.endpoint).observe(seconds)
    if visit.model:
        QUEUE.observe(visit.queue)
        MODEL.observe(visit.model)
        DEFENSE.observe(visit.defense)
    if visit.refused is not None:
        requests, rows = rejected_of(visit.refused)
        requests.inc()
        rows.inc(visit.rows)
        if visit.refused == BudgetError.reason:
            BUDGET_REFUSALS.inc()


class Lump:
    """Holds back what would tell of a single row, until it is of many.

    Whoever reads a count before and after a request of their own reads what happened to that one:
    whether the noise had moved its label, whether somebody else had asked the same.
    """

    def __init__(self) -> None:
        self.told = _core.labels_kept()  # which only grows
        self.rows = self.repeated = 0
        self.lock = threading.Lock()

    def leave_out(self, kept: int) -> None:
        """Tell nothing of labels that were kept for no client."""
        with self.lock:
            self.told += kept

    def add(self, rows: int, repeated: int) -> None:
        """Add the rows of a call, and tell of all since the last time if they are enough."""
        with self.lock:
            self.rows += rows
            self.repeated += repeated
            if self.rows < LUMP_ROWS:
                return
            kept = _core.labels_kept()
            REPEATED_ROWS.inc(self.repeated)
            LABELS_KEPT.inc(kept - self.told)
            self.told, self.rows, self.repeated = kept, 0, 0


LUMP = Lump()


@contextmanager
def uncounted() -> Iterator[None]:
    """Have the core's count of labels left out of what is told: for rows of no client."""
    before = _core.labels_kept()
    try:
        yield
    finally:
        LUMP.leave_out(_core.labels_kept() - before)


def count_call(rows: int, repeated: int = 0) -> None:
    """Count one call of the model and the defense behind it, once both are done.

    Parameters
    ----------
    rows : int
        That the call took.
    repeated : int
        Of them, those that `Repeats` had seen.
    """
    ROWS_OF_CALL.observe(rows)
    LUMP.add(rows, repeated)
