"""What is asked of the defended server, on made-up times."""

from __future__ import annotations

import json

import numpy as np
import pytest
from rich.console import Console

from benchmarks.peers import tables
from benchmarks.peers.contestants import CONTROL, UNDEFENDED
from benchmarks.peers.criteria import CRITERIA, LARGE, SMALL, judge
from benchmarks.peers.measuring import WORKLOADS, Rounds

# Milliseconds, the same in each round.
TIMES = {
    "BentoML JSON": 4.0,
    "MLServer JSON": 8.0,
    f"{UNDEFENDED} JSON": 3.0,
    f"{UNDEFENDED} binary": 0.9,
    "DynaServe dynanoise JSON": 4.0,
    "DynaServe dynanoise binary": 0.95,
    "DynaServe rank-template JSON": 4.1,
    "DynaServe rank-template binary": 1.1,
    f"{CONTROL} JSON": 3.0,
    f"{CONTROL} binary": 0.9,
}


@pytest.fixture
def rounds() -> Rounds:
    return {name: [np.full(3, value / 1e3)] * 2 for name, value in TIMES.items()}


def test_every_workload_is_measured() -> None:
    assert {criterion.workload for criterion in CRITERIA} == set(WORKLOADS) == {SMALL, LARGE}


def test_the_verdicts_of_the_large_request(rounds: Rounds) -> None:
    verdicts = {
        (each.criterion.text, each.server): (each.words(), round(each.ratio.value, 4))
        for each in judge(LARGE, 1, rounds)
    }
    faster, cost = "8 times faster than MLServer JSON", "the defense costs under 10%"
    plain = "no slower than plain BentoML JSON"
    assert verdicts == {
        (faster, "DynaServe dynanoise"): ("met", 0.1187),
        (faster, "DynaServe rank-template"): ("not met", 0.1375),
        (plain, "DynaServe dynanoise"): ("met", 1.0),
        (plain, "DynaServe rank-template"): ("not met", 1.025),
        (cost, "DynaServe dynanoise"): ("met", 1.0556),
        (cost, "DynaServe rank-template"): ("not met", 1.2222),
        (cost, CONTROL): ("-", 1.0),
    }


def test_the_small_request_has_bounds_of_its_own(rounds: Rounds) -> None:
    bounds = {each.criterion.at_most for each in judge(SMALL, 8, rounds)}
    assert bounds == {1, 1.02}
    assert {each.clients for each in judge(SMALL, 8, rounds)} == {8}


def test_figures_survive_json_and_are_printed(
    rounds: Rounds, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {name: rounds[name] for name in (*tables.AGAINST, "DynaServe dynanoise binary")}
    case = json.loads(json.dumps(tables.figures(LARGE, 1, few)))
    binary = case["contestants"]["DynaServe dynanoise binary"]
    assert binary["p50_ms"] == pytest.approx([0.95] * 3)
    assert binary["faster_than"]["MLServer JSON"] == pytest.approx([8 / 0.95] * 3)
    verdicts = json.loads(json.dumps([*map(tables.verdict_figures, judge(LARGE, 1, rounds))]))
    console = Console(width=140)
    tables.print_case(console, case)
    tables.print_verdicts(console, verdicts)
    output = capsys.readouterr().out
    assert "Requests of 64 x 1000, 1 client\n" in "\n".join(map(str.rstrip, output.split("\n")))
    assert "8.42 (8.42 to 8.42)" in output
    assert "not met" in output
    assert "…" not in output
