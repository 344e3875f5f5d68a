from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dynaserve.canarybench import benchmark
from dynaserve.canarybench.rates import Rate


@pytest.fixture(scope="module")
def cells():
    return benchmark.run_benchmark([0])


@pytest.fixture
def measure(monkeypatch):
    """Have the command measure these cells."""
    return lambda cells: monkeypatch.setattr(benchmark, "run_benchmark", lambda *_, **__: cells)


def test_the_paper_is_reproduced(run, cells, measure):
    measure(cells)
    result = run("reproduce", "canarybench", "--seeds", 1)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert sum("the paper" in line for line in lines) == 2
    assert sum(line.startswith("holds: ") for line in lines) == 4
    assert max(map(len, lines[:12])) <= 100


def test_json_has_cells_and_checks(run, cells, measure):
    measure(cells)
    facts = json.loads(run("reproduce", "canarybench", "--json").stdout)
    assert [check["holds"] for check in facts["checks"]] == [True] * 4
    none = facts["cells"][4]
    assert (none["summarizer"], none["defense"]) == ("extractive", "none")
    assert none["cluster_rate"]["value"] >= 0.9
    assert none["runs"][0]["published"] == 54


def test_a_finding_that_does_not_hold_is_exit_code_one(run, cells, measure):
    leaky = replace(cells[7], runs=(replace(cells[7].runs[0], canary_rate=Rate(1, 900)),))
    measure((*cells[:7], leaky))
    result = run("reproduce", "canarybench")
    assert result.exit_code == 1
    assert "FAILS: k-min and redaction together leak nothing: 1 leaks" in result.stdout


def test_a_bug_is_an_internal_error(run, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("no such luck")

    monkeypatch.setattr(benchmark, "run_benchmark", broken)
    assert run("reproduce", "canarybench").exit_code == 3
