"""Servers that end under load: asked to, or killed. What clients see is told by each request."""

from __future__ import annotations

import signal
import time
from collections import Counter
from subprocess import TimeoutExpired
from typing import Any, NamedTuple

from rich.console import Console

from benchmarks.load_connections import (
    Connection,
    Crowd,
    Outcome,
    can_connect,
    longest_pause,
)
from benchmarks.load_servers import clients_of, defended, is_connected, request, workers_of
from benchmarks.processes import Running
from benchmarks.routes import ROUTES

CLIENTS = 8
BEFORE_SECONDS = 2.0
"""Load before the fault."""
END_SECONDS = 60.0
LOOK_SECONDS = 0.02

GRAVE = (Outcome.LOST, Outcome.HUNG, Outcome.REFUSED)
"""What may not become of a request when a server ends in good order."""
UNANSWERED = (Outcome.LOST, Outcome.UNREAD, Outcome.NEVER_ACCEPTED, Outcome.LATE)
"""What becomes of a request whose worker is killed."""


def shutdown(console: Console, *, times: int, workers: int) -> dict[str, Any]:
    """Ask the server to end under load, several times; no request may be read and not answered."""
    total: Counter[Outcome] = Counter()
    seconds = []
    for number in range(times):
        route = list(ROUTES)[number % len(ROUTES)]
        with (
            defended(workers) as (server,),
            Crowd(server.port, request(route), CLIENTS, persistent=False) as crowd,
        ):
            time.sleep(BEFORE_SECONDS)
            begun = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            try:
                server.process.wait(END_SECONDS)
            except TimeoutExpired:
                raise RuntimeError(f"no end in {END_SECONDS:.0f} seconds") from None
            tally = crowd.stop()
            seconds.append(time.monotonic() - begun)
            if can_connect(server.port):
                raise RuntimeError("the server has ended, and somebody still listens")
        console.print(f"SIGTERM, {route}: ended in {seconds[-1]:.2f} s; {words(tally.outcomes)}")
        total += tally.outcomes
    lost = sum(total[outcome] for outcome in GRAVE)
    accepted = total[Outcome.ANSWERED] + lost
    console.print(
        f"{times} times with {workers} workers and {CLIENTS} connections: {accepted} requests "
        f"accepted, {total[Outcome.ANSWERED]} answered, {lost} lost"
    )
    return {"outcomes": _named(total), "seconds": seconds, "failed": lost > 0}


def kill(console: Console, *, times: int) -> dict[str, Any]:
    """Kill one of two workers under load; the other goes on, and another one takes its place."""
    total: Counter[Outcome] = Counter()
    recoveries, pauses = [], []
    for number in range(times):
        route = list(ROUTES)[number % len(ROUTES)]
        with (
            defended(2) as (server,),
            Crowd(server.port, request(route), CLIENTS, persistent=True) as crowd,
        ):
            time.sleep(BEFORE_SECONDS)
            recovery = _kill_one(server)
            time.sleep(1)
            tally = crowd.stop()
        recoveries.append(recovery)
        pauses.append(longest_pause(tally.answered_at))
        total += tally.outcomes
        console.print(
            f"kill -9, {route}: another worker is started after {recovery.started:.1f} s and "
            f"answers after {recovery.answered:.1f} s; longest time without any answer "
            f"{pauses[-1]:.2f} s; {words(tally.outcomes)}"
        )
    failed = is_bad_end(total, times)
    return {"outcomes": _named(total), "recoveries": recoveries, "pauses": pauses, "failed": failed}


def is_bad_end(total: Counter[Outcome], times: int) -> bool:
    """Whether so many workers that were killed have cost more than they may.

    Each of their clients loses the one request that it waits for, and nobody another one.
    """
    worse = sum(total[each] for each in (Outcome.HUNG, Outcome.REFUSED, Outcome.NO_CONNECTION))
    return worse > 0 or sum(total[each] for each in UNANSWERED) > CLIENTS * times


class Recovery(NamedTuple):
    """Seconds from the end of a worker to what its successor does."""

    started: float
    answered: float


def _kill_one(server: Running) -> Recovery:
    """Kill the worker with most clients, and wait until another one has answered."""
    before = workers_of(server)
    max(before, key=clients_of).send_signal(signal.SIGKILL)
    begun, started = time.monotonic(), None
    while (now := time.monotonic() - begun) < END_SECONDS:
        fresh = [worker for worker in workers_of(server) if worker not in before]
        started = now if fresh and started is None else started
        # The clients of the crowd may stay with the worker that they have.
        probe = Connection(server.port, request("JSON"))
        answered = probe.ask() is Outcome.ANSWERED
        by_fresh = any(is_connected(worker, probe.local_port) for worker in fresh)
        probe.close()
        if answered and by_fresh and started is not None:
            return Recovery(started, time.monotonic() - begun)
        time.sleep(LOOK_SECONDS)
    raise RuntimeError(f"no other worker in {END_SECONDS:.0f} seconds")


def words(outcomes: Counter[Outcome]) -> str:
    """Return what became of requests, in words."""
    return ", ".join(
        f"{outcome.value}: {outcomes[outcome]}" for outcome in Outcome if outcomes[outcome]
    )


def _named(outcomes: Counter[Outcome]) -> dict[str, int]:
    return {outcome.value: outcomes[outcome] for outcome in Outcome}
