"""A server under steady load: what a second worker brings, how it holds out, what it keeps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.load_servers import defended, request, resident_bytes, workers_of
from benchmarks.load_wrk import Load, load
from benchmarks.processes import Running
from benchmarks.routes import ROUTES
from benchmarks.spread import ratio

CLIENTS = 8
AIM = 1.3
"""What a second worker should bring on two cores, the client on one of them too."""
SOAK_CONNECTIONS = (8, 64)
WARM_UP_SECONDS = 75
"""In which allocators, pools and caches fill."""
STEADY_SECONDS = 30
"""Looked at after that, at least."""
SLICE_SECONDS = 2
LEAST_OBJECT = 16
"""Bytes of the smallest object of CPython: less growth in a request than that is no leak."""


def throughput(console: Console, *, rounds: int, seconds: int) -> dict[str, Any]:
    """Compare one worker with two, in turn: 1 2 2 1 in each round."""
    found = {}
    with defended(1, 2) as servers:
        for route in ROUTES:
            for server in servers:
                _run(server, route, seconds)  # warms up
            taken: list[list[NDArray[np.float64]]] = [[], []]
            for _ in range(rounds):
                order = [0, 1, 1, 0]
                rates = [_run(servers[which], route, seconds).per_second for which in order]
                for which in (0, 1):
                    taken[which].append(np.array(rates)[np.array(order) == which])
            one, two = (float(np.concatenate(each).mean()) for each in taken)
            gain = ratio(taken[1], taken[0], np.mean)
            verdict = "met" if gain.value >= AIM else "not met"
            console.print(
                f"{route}, {CLIENTS} connections: {one:.0f} requests/s with one worker, {two:.0f} "
                f"with two: {gain.value:.2f} times ({gain.low:.2f} to {gain.high:.2f}); "
                f"at least {AIM}: {verdict}"
            )
            found[route] = {"per_second": [one, two], "gain": list(gain), "verdict": verdict}
    return found


def _run(server: Running, route: str, seconds: int, connections: int = CLIENTS) -> Load:
    return load(server.port, request(route), connections=connections, seconds=seconds)


def soak(console: Console, *, seconds: int) -> dict[str, Any]:
    """Load two workers over few connections and over many; there may be no error."""
    found = {}
    with defended(2) as (server,):
        for route in ROUTES:
            for connections in SOAK_CONNECTIONS:
                seen = _run(server, route, seconds, connections)
                errors = sum(seen.errors.values())
                said = ", ".join(f"{kind} {count}" for kind, count in seen.errors.items() if count)
                console.print(
                    f"{route}, {connections} connections, {seen.seconds:.0f} s: "
                    f"{seen.per_second:.0f} requests/s, p50 {seen.p50_ms:.1f} ms, "
                    f"p99 {seen.p99_ms:.1f} ms, {seen.requests} answers, "
                    f"errors: {said or 'none'}"
                )
                found[f"{route} {connections}"] = {
                    "requests": seen.requests,
                    "seconds": seen.seconds,
                    "p50_ms": seen.p50_ms,
                    "p99_ms": seen.p99_ms,
                    "errors": seen.errors,
                    "failed": errors > 0,
                }
    return found


class Growth(NamedTuple):
    """Bytes that memory grows in a request, with a 95% interval."""

    slope: float
    low: float
    high: float

    @property
    def is_none(self) -> bool:
        """Whether even the upper end is less than one object in a request."""
        return self.high < LEAST_OBJECT


def growth(requests: NDArray[np.float64], resident: NDArray[np.float64]) -> Growth:
    """Fit a line to memory over requests by least squares.

    Parameters
    ----------
    requests
        Answers so far at each look, (n,), n of at least 3.
    resident
        Bytes at each look, (n,).

    Notes
    -----
    The interval is Student's, for independent deviations. Those of memory are not, for it grows
    in steps; it is what the looks can tell, and it is checked against a bound far above it.
    """
    from scipy import stats  # noqa: PLC0415 - only this

    fit = stats.linregress(requests, resident)
    half = float(stats.t.ppf(0.975, len(requests) - 2) * fit.stderr)
    return Growth(float(fit.slope), float(fit.slope) - half, float(fit.slope) + half)


def memory(console: Console, *, requests: int) -> dict[str, Any]:
    """Look at the workers' memory over so many answers, half of the time by each route."""
    with defended(2) as (server,):
        workers = workers_of(server)
        answers, seconds, errors = 0, 0.0, 0
        looks = [(seconds, answers, resident_bytes(workers))]
        routes = list(ROUTES)
        while answers < requests or seconds < WARM_UP_SECONDS + STEADY_SECONDS:
            seen = _run(server, routes[len(looks) % len(routes)], SLICE_SECONDS)
            answers, seconds = answers + seen.requests, seconds + seen.seconds
            errors += sum(seen.errors.values())
            looks.append((seconds, answers, resident_bytes(workers)))
        if workers_of(server) != workers:
            raise RuntimeError("a worker ended under load")
    table = np.array(looks, dtype=np.float64)
    steady = table[table[:, 0] >= WARM_UP_SECONDS]
    found = growth(steady[:, 1], steady[:, 2])
    first, warm, last = (each / 2**20 for each in (table[0, 2], steady[0, 2], table[-1, 2]))
    verdict = "no growth" if found.is_none else "growth"
    console.print(
        f"{answers} answers, {len(workers)} workers, errors: {errors or 'none'}\n"
        f"resident memory of all workers: {first:.1f} MiB at first, {warm:.1f} MiB after "
        f"{WARM_UP_SECONDS} s, {last:.1f} MiB at last\n"
        f"after {WARM_UP_SECONDS} s: {found.slope / 1.024:+.2f} KiB for every 1000 "
        f"requests ({found.low / 1.024:+.2f} to {found.high / 1.024:+.2f}); below "
        f"{LEAST_OBJECT / 1.024:.1f}, one smallest object in a request: {verdict}"
    )
    return {"looks": looks, "bytes_in_a_request": list(found), "verdict": verdict,
            "failed": errors > 0 or not found.is_none}  # fmt: skip
