"""Asks every server in turn, and keeps what each request took.

All servers of a model run at the same time. In a round each contestant gets a block forwards and
another one backwards, of about as many milliseconds for all that answer within that.

A block is measured once it runs evenly: of clients that begin together the first ones wait for
nobody, and would make a server seem fast that answers few requests in a block.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.clients import Block, Clients, Request
from benchmarks.peers.contestants import Contestant, contestants
from benchmarks.peers.model import probabilities, weights
from benchmarks.peers.ways import Way
from benchmarks.processes import running
from benchmarks.service import order, requested_rows

BLOCK_SECONDS = 0.05
LEAST = 4
"""Requests of each client that count in a block, however long they take."""
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
    """For each launch and number of clients."""


class Asked(NamedTuple):
    """One contestant by one way, for all blocks that it gets."""

    port: int
    request: Request
    requests: int
    """Of each client in a block, that count."""


Rounds = dict[str, list[NDArray[np.float64]]]
"""Contestant and way, such as ``BentoML JSON`` -> seconds of each request, by round."""


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
                for clients, rounds in found.items():
                    asked = _prepare(everyone, ports, workload, clients)
                    for name, of_launch in _ask(asked, clients, effort.rounds).items():
                        rounds.setdefault(name, []).extend(of_launch)
    return found


def _prepare(
    everyone: dict[str, Contestant], ports: dict[str, int], workload: Workload, clients: int
) -> dict[str, Asked]:
    """Check everyone's answer, warm everyone up, and see how many requests fit a block."""
    rows = requested_rows(workload.rows).astype(np.float32)
    expected = probabilities(rows, weights(workload.classes))
    asked = {}
    for name, contestant in everyone.items():
        for kind, way in contestant.ways.items():
            one = Asked(ports[name], way.request(rows), 1)
            try:
                check(_answer(one, way, workload), expected, contestant.defended)
            except RuntimeError as error:
                raise RuntimeError(f"{name} {kind}: {error}") from error
            for _ in range(3):
                seconds = float(np.median(_block(one, clients)))
            requests = max(LEAST, round(BLOCK_SECONDS / seconds))
            asked[f"{name} {kind}"] = one._replace(requests=requests)
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
    """Return the seconds of each request of a block, on connections of its own.

    Some rounds outlast the five seconds after which servers hang up on who is silent. The first
    request of each connection does not count.
    """
    with closing(Clients(asked.port, asked.request, clients)) as open_clients:
        return settled(open_clients.block(1 + asked.requests), clients)


def settled(block: Block, clients: int) -> NDArray[np.float64]:
    """Return the seconds of all requests but the first of each client."""
    return block.latencies.reshape(clients, -1)[:, 1:].ravel()


def _ask(asked: dict[str, Asked], clients: int, rounds: int) -> Rounds:
    found: Rounds = {name: [] for name in asked}
    for number in range(rounds):
        taken: dict[str, list[NDArray[np.float64]]] = {name: [] for name in asked}
        for name in order(list(asked), number):
            taken[name].append(_block(asked[name], clients))
        for name, blocks in taken.items():
            found[name].append(np.concatenate(blocks))
    return found
