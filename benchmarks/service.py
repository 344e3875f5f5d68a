"""What the defense adds to a request: real servers on loopback, defended and not, in turn.

Each is asked in JSON, by ``/predict``, and in raw tensors, by ``/v2`` (``routes.py``).

All servers of a model run at the same time and are asked in turn, a short block each, forwards
and then backwards (A B C D D C B A), beginning with another one each time; that is a round. A
second undefended server is the control: what it seems to cost is how far two equal processes
differ here. Servers are started anew several times, for the same reason. Figures are over all
requests, intervals from drawing whole rounds anew (``spread.py``).

    python -m benchmarks.service            # about half an hour
    python -m benchmarks.service --smoke    # two short rounds: only proves that it runs
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import skops.io
from numpy.typing import NDArray
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression

from benchmarks import machine, spread
from benchmarks.clients import Block, Clients
from benchmarks.routes import ROUTES, Route
from benchmarks.servers import serving
from dynaserve import RankTemplate

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / ".benchmarks" / "service.json"

UNDEFENDED = "undefended"
EMBEDDED, EMBEDDED_CLASSES = "digits", 10
LINEAR = "linear"
FEATURES = 64
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class Workload(NamedTuple):
    """One model and the request that it gets."""

    rows: int
    classes: int
    requests: dict[int, int]
    """Clients -> requests of each in a block: a block should last some 50 ms."""
    launches: int = 4
    """How often its servers are started anew: the smaller the cost, the more two equal processes
    differ in comparison."""


WORKLOADS = [Workload(1, 10, {1: 80, 8: 12}, launches=10), Workload(64, 1000, {1: 12, 8: 4})]


class Effort(NamedTuple):
    """How much is measured."""

    rounds: int
    """For each launch, workload, route and number of clients."""
    launches: int | None = None
    """As the workload has it if None."""


def servers_of(workload: Workload, directory: Path) -> dict[str, list[str]]:
    """Return name -> arguments of ``dynaserve serve``.

    With 10 classes the model is the embedded default. With more it is a linear one of random
    weights: its accuracy is of no matter here.
    """
    source: list[str] = []
    template = "rank-template"
    if workload.classes != EMBEDDED_CLASSES:
        model, held_out, labels = _linear_model(workload.classes)
        path = directory / f"{LINEAR}.skops"
        skops.io.dump(model, path)
        template = str(directory / "rank_template.toml")
        RankTemplate.calibrate(np.log(model.predict_proba(held_out)), labels).save(template)
        source = [str(path)]
    no_defense = [*source, "--defense", "none", "--undefended"]
    return {
        UNDEFENDED: no_defense,
        "dynanoise": [*source, "--defense", "dynanoise"],
        "rank-template": [*source, "--defense", template],
        "control": no_defense,
    }


def _linear_model(classes: int) -> tuple[LogisticRegression, Any, Any]:
    """Return a model whose logits spread by about 5, and rows with labels."""
    rng = np.random.default_rng(0)
    rows = requested_rows(1000)
    model = LogisticRegression()
    model.classes_ = np.arange(classes)
    model.n_features_in_ = FEATURES
    model.coef_ = rng.normal(0, 5 / np.linalg.norm(rows, axis=1).mean(), size=(classes, FEATURES))
    model.intercept_ = np.zeros(classes)
    return model, rows, model.predict(rows)


def requested_rows(count: int) -> NDArray[np.float64]:
    """Return rows (count, 64) of whole numbers from 0 to 16, like the digits data."""
    return np.random.default_rng(0).integers(17, size=(count, FEATURES)).astype(np.float64)


def model_of(workload: Workload) -> str:
    """Return the name by which servers know their model."""
    return EMBEDDED if workload.classes == EMBEDDED_CLASSES else LINEAR


def order(names: list[str], number: int) -> list[str]:
    """Return who is asked in round ``number``: everyone twice, forwards and backwards."""
    turned = names[number % len(names) :] + names[: number % len(names)]
    return turned + turned[::-1]


Rounds = dict[str, list[list[Block]]]
"""Server -> its blocks in each round."""


Case = tuple[str, int]
"""A route's name and a number of clients."""


def measure(workload: Workload, effort: Effort, console: Console) -> dict[Case, Rounds]:
    """Return what every server took."""
    found: dict[Case, Rounds] = {
        (route, clients): defaultdict(list) for route in ROUTES for clients in workload.requests
    }
    for launch in range(effort.launches or workload.launches):
        console.print(f"{workload.rows} x {workload.classes}: launch {launch + 1}")
        with TemporaryDirectory() as temporary:
            directory = Path(temporary)
            with serving(servers_of(workload, directory), directory) as ports:
                for (route, clients), rounds in found.items():
                    taken = _ask(workload, ROUTES[route], ports, clients, effort)
                    for name, of_server in taken.items():
                        rounds[name] += of_server
    return found


def _ask(
    workload: Workload, route: Route, ports: dict[str, int], clients: int, effort: Effort
) -> Rounds:
    request = route.request(requested_rows(workload.rows), model_of(workload))
    requests = workload.requests[clients]
    with ExitStack() as stack:
        asked = {
            name: stack.enter_context(closing(Clients(port, request, clients)))
            for name, port in ports.items()
        }
        for each in asked.values():
            _require_answer(route.shape_of(each.answer()), workload)
        for each in 5 * list(
            asked.values()
        ):  # warms up; in turn, lest a server hangs up on who waits
            each.block(requests)
        rounds: Rounds = {name: [] for name in asked}
        for number in range(effort.rounds):
            for blocks in rounds.values():
                blocks.append([])
            for name in order(list(asked), number):
                rounds[name][-1].append(asked[name].block(requests))
    return rounds


def _require_answer(shape: tuple[int, ...], workload: Workload) -> None:
    if shape != (workload.rows, workload.classes):
        raise RuntimeError(f"probabilities of shape {shape}: something else answers on this port")


def summarize(rounds: Rounds) -> dict[str, Any]:
    """Return each server's figures, and its time relative to the undefended one's."""
    latencies = {
        name: [np.concatenate([block.latencies for block in blocks]) for blocks in of_server]
        for name, of_server in rounds.items()
    }
    seconds = {
        name: [np.array([block.seconds for block in blocks]) for blocks in of_server]
        for name, of_server in rounds.items()
    }
    result = {}
    for name in rounds:
        every = np.concatenate(latencies[name])
        at = {key: 1e3 * float(np.quantile(every, q)) for key, q in QUANTILES.items()}
        relative = {
            key: spread.ratio(latencies[name], latencies[UNDEFENDED], partial(np.quantile, q=q))
            for key, q in QUANTILES.items()
        }
        relative["all"] = spread.ratio(seconds[name], seconds[UNDEFENDED], np.sum)
        result[name] = {
            "milliseconds": at,
            "per_second": len(every) / float(np.concatenate(seconds[name]).sum()),
            "relative": relative,
        }
    return result


COLUMNS = ["rows x classes", "route", "clients", "server", "p50 ms", "p90 ms", "p99 ms",
           "requests/s", "change of p50", "change of time"]  # fmt: skip

NOTE = (
    "change: against the undefended server, with half its 95% interval; time is that of all "
    "requests together, so that it is also the loss of throughput. control: a second undefended "
    "server, whose change is how far two equal processes differ here."
)


def cells(case: dict[str, Any]) -> list[list[str]]:
    """Return one case as text, a row for each server."""
    return [
        [
            f"{case['rows']} x {case['classes']}",
            case["route"],
            str(case["clients"]),
            name,
            *(f"{figures['milliseconds'][key]:.2f}" for key in QUANTILES),
            f"{figures['per_second']:.0f}",
            *(
                "" if name == UNDEFENDED else spread.Ratio(*figures["relative"][key]).percent()
                for key in ("p50", "all")
            ),
        ]
        for name, figures in case["servers"].items()
    ]


def print_tables(console: Console, results: dict[str, Any]) -> None:
    """Print a table for each case."""
    for case in results["cases"]:
        table = Table(
            title=f"{case['route']} requests of {case['rows']} x {case['classes']}, "
            f"{case['clients']} client{'s' if case['clients'] > 1 else ''}",
            box=SIMPLE,
        )
        table.pad_edge, table.collapse_padding = False, True
        for heading in COLUMNS[3:]:
            table.add_column(
                heading.replace(" of ", "\nof ").replace("/", "\n/ "),
                justify="left" if heading == "server" else "right",
            )
        for row in cells(case):
            table.add_row(*row[3:])
        console.print(table)
    console.print(NOTE)
    console.print(machine.sentence(results["machine"]))


def main() -> int:
    """Measure, then print."""
    parser = argparse.ArgumentParser(description="Time requests with and without a defense.")
    parser.add_argument("--smoke", action="store_true", help="only prove that everything runs")
    smoke = parser.parse_args().smoke
    effort = Effort(rounds=2, launches=1) if smoke else Effort(rounds=15)
    console = Console()
    cases = [
        {
            "rows": workload.rows,
            "classes": workload.classes,
            "route": route,
            "clients": clients,
            "servers": summarize(rounds),
        }
        for workload in WORKLOADS
        for (route, clients), rounds in measure(workload, effort, console).items()
    ]
    results = {"machine": machine.facts(), "cases": cases}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results))
    print_tables(console, results)
    if smoke:
        console.print("A smoke run: these numbers mean nothing.")
    console.print(f"Numbers: {RESULTS.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
