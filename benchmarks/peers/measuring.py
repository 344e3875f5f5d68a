"""Asks every server in turn, and keeps what each request took.

All servers of a model run at the same time. In a round each contestant gets a block forwards and
another one backwards: with one client of about as many milliseconds for all that answer within
that, with several of whole seconds.

One client is our own. Several are those of wrk, for threads of Python that take turns would keep a
fast server waiting. They begin together, and the first ones wait for nobody, which would make a
server seem fast that answers few requests in a block: theirs lasts until it runs evenly.
"""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.clients import Clients, Request
from benchmarks.load_wrk import load
from benchmarks.peers.contestants import Contestant, contestants
from benchmarks.peers.model import probabilities, weights
from benchmarks.peers.ways import Way
from benchmarks.processes import running
from benchmarks.service import order, requested_rows

BLOCK_SECONDS = 0.05
LEAST = 4
"""Requests of each client in a block, however long they take."""
CLIENTS = (1, 8)


class Workload(NamedTuple):
    """One model and the request that it gets."""

    rows: int
    classes: int


WORKLOADS = (Workload(1, 10), Workload(64, 1000))


class Effort(NamedTuple):
    """How much is measured of one workload."""

    launches: int
    """How often all servers are started anew."""
    rounds: int
    """With one client, for each launch."""
    loaded: int
    """With several, whose blocks are longer."""


class Asked(NamedTuple):
    """One contestant by one way, for all blocks that it gets."""

    port: int
    request: Request
    requests: int
    """Of a lone client in a block."""
    seconds: int
    """That a block of several clients takes."""


Rounds = dict[str, list[NDArray[np.float64]]]
"""Contestant and way, such as ``BentoML JSON`` -> seconds of requests, by round."""


class WrongAnswerError(RuntimeError):
    """A server answered, and not what it should have."""


def measure(workload: Workload, effort: Effort, console: Console) -> dict[int, Rounds]:
    """Return what everyone took, by the number of clients."""
    found: dict[int, Rounds] = {clients: {} for clients in CLIENTS}
    for launch in range(effort.launches):
        console.print(f"{workload.rows} x {workload.classes}: launch {launch + 1}")
        with TemporaryDirectory() as temporary:
            directory = Path(temporary)
            everyone = contestants(workload.classes, directory)
            servers = {name: each.server for name, each in everyone.items()}
            with running(servers, directory) as up:
                ports = {name: server.port for name, server in up.items()}
                asked = _prepare(everyone, ports, workload)
                for clients, rounds in found.items():
                    count = effort.rounds if clients == 1 else effort.loaded
                    for name, of_launch in _ask(asked, clients, count).items():
                        rounds.setdefault(name, []).extend(of_launch)
    return found


def _prepare(
    everyone: dict[str, Contestant], ports: dict[str, int], workload: Workload
) -> dict[str, Asked]:
    """Check everyone's answer, warm everyone up, and see how much fits a block."""
    rows = requested_rows(workload.rows).astype(np.float32)
    expected = probabilities(rows, weights(workload.classes))
    asked = {}
    for name, contestant in everyone.items():
        for kind, way in contestant.ways.items():
            one = Asked(ports[name], way.request(rows), LEAST, 1)
            try:
                check(_answer(one, way, workload), expected, contestant.defended)
            except RuntimeError as error:
                raise RuntimeError(f"{name} {kind}: {error}") from error
            _block(one, max(CLIENTS))
            taken = float(np.median(_block(one, 1)))
            asked[f"{name} {kind}"] = one._replace(
                requests=max(LEAST, round(BLOCK_SECONDS / taken)),
                seconds=math.ceil(LEAST * max(CLIENTS) * taken),
            )
    return asked


def _answer(asked: Asked, way: Way, workload: Workload) -> NDArray[Any]:
    with closing(Clients(asked.port, asked.request, 1)) as client:
        return way.read(client.answer(), workload.classes)


def check(answer: NDArray[Any], expected: NDArray[np.float32], defended: bool) -> None:
    """Require the model's probabilities, or other ones where a defense is on.

    Raises
    ------
    WrongAnswerError
        Saying what came instead.
    """
    if answer.shape != expected.shape:
        raise WrongAnswerError(f"shape {answer.shape} instead of {expected.shape}")
    if not np.allclose(answer.sum(axis=1), 1, atol=1e-3):
        raise WrongAnswerError("probabilities that do not sum to 1")
    if np.allclose(answer, expected, rtol=1e-3, atol=1e-6) == defended:
        raise WrongAnswerError(
            "the model's own probabilities" if defended else "not the model's probabilities"
        )


def _block(asked: Asked, clients: int) -> NDArray[np.float64]:
    """Return the seconds that requests of a block took, on connections of its own.

    Some rounds outlast the five seconds after which servers hang up on who is silent. The first
    request of a lone client does not count.
    """
    if clients == 1:
        with closing(Clients(asked.port, asked.request, 1)) as client:
            return client.block(1 + asked.requests).latencies[1:]
    found = load(asked.port, asked.request, connections=clients, seconds=asked.seconds)
    if failed := {kind: count for kind, count in found.errors.items() if count}:
        raise RuntimeError(f"wrk counts errors: {failed}")
    if found.requests < clients:  # of none it gives latencies of 0
        raise RuntimeError(f"{found.requests} answers in {asked.seconds} s for {clients} clients")
    return found.latencies


def _ask(asked: dict[str, Asked], clients: int, rounds: int) -> Rounds:
    found: Rounds = {name: [] for name in asked}
    for number in range(rounds):
        taken: dict[str, list[NDArray[np.float64]]] = {name: [] for name in asked}
        for name in order(list(asked), number):
            taken[name].append(_block(asked[name], clients))
        for name, blocks in taken.items():
            found[name].append(np.concatenate(blocks))
    return found
