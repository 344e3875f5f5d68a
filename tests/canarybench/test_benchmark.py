from __future__ import annotations

from dataclasses import replace

import pytest

from dynaserve.canarybench.benchmark import (
    DEFENSES,
    Cell,
    Run,
    run_benchmark,
    run_seed,
)
from dynaserve.canarybench.paper import PAPER, checks
from dynaserve.canarybench.rates import Rate
from dynaserve.canarybench.reports.benchmark import benchmark_json, benchmark_table
from dynaserve.canarybench.summarizers import SUMMARIZERS


@pytest.fixture(scope="module")
def cells():
    return run_benchmark([0, 1], conversations=250, k_min=4)


def cell(cells, summarizer, defense):
    return next(c for c in cells if (c.summarizer, c.defense) == (summarizer, defense))


def test_every_combination_is_run_for_every_seed(cells):
    assert [(c.summarizer, c.defense) for c in cells] == [
        (summarizer, defense) for summarizer in SUMMARIZERS for defense in DEFENSES
    ]
    assert all([run.seed for run in c.runs] == [0, 1] for c in cells)


def test_undefended_extracts_leak_and_defended_ones_do_not(cells):
    assert cell(cells, "extractive", "none").clusters.value > 0.8
    assert cell(cells, "extractive", "both").canaries.found == 0


def test_all_clusters_are_published_undefended_and_fewer_with_k_min(cells):
    none, held = cell(cells, "keyword", "none"), cell(cells, "keyword", "k-min")
    assert [run.published for run in none.runs] == [15, 15]  # floor of the root of 250
    assert all(a.published > b.published for a, b in zip(none.runs, held.runs, strict=True))
    # What was held back is in no rate.
    assert all(run.canary_rate.total == run.planted for run in none.runs)
    assert all(run.canary_rate.total < run.planted for run in held.runs)


def test_rates_of_the_seeds_add_up(cells):
    found = cell(cells, "extractive", "none")
    totals = [run.canary_rate.total for run in found.runs]
    assert found.canaries.total == sum(totals)
    spread = found.spread(lambda run: run.canary_rate.total)
    assert (spread.low, spread.mean, spread.high) == (min(totals), sum(totals) / 2, max(totals))


def test_a_seed_gives_the_same_again(cells):
    again = run_seed(1, conversations=250, k_min=4)
    assert again == [
        run
        for defense in DEFENSES
        for c in cells
        if c.defense == defense
        for run in c.runs
        if run.seed == 1
    ]


def test_several_processes_find_what_one_finds():
    one, two = (run_benchmark([0, 1], conversations=40, k_min=2, jobs=jobs) for jobs in (1, 2))
    assert one == two


def test_seeds_are_counted_as_they_finish():
    finished = []
    run_benchmark([3, 4], conversations=60, k_min=2, done=finished.append)
    assert finished == [1, 2]


def test_no_seed_is_an_error():
    with pytest.raises(ValueError, match="at least one"):
        run_benchmark([])


def test_the_json_has_every_run(cells):
    facts = benchmark_json(cells)
    assert len(facts) == 8
    assert facts[4]["runs"][1]["canary_rate"]["total"] == facts[4]["runs"][1]["planted"]


def test_the_table_has_the_paper_beside_ours(cells):
    assert benchmark_table(cells).row_count == 8
    assert benchmark_table(cells, PAPER).row_count == 8 + len(PAPER)


def made(summarizer, defense, *, leaking=0, coherence=0.65, published=54):
    return Cell(
        summarizer,
        defense,
        tuple(
            Run(
                seed,
                summarizer,
                defense,
                Rate(leaking, 1000),
                Rate(leaking, 54),
                1000,
                published,
                coherence,
                {"email": 0, "phone": 0, "zip": 0},
                1.0,
            )
            for seed in (0, 1)
        ),
    )


def verdicts(**changes):
    none = made("extractive", "none", leaking=52)
    both = made("extractive", "both", coherence=0.66, published=32)
    none, both = replace(none, **changes.get("none", {})), replace(both, **changes.get("both", {}))
    return [check.holds for check in checks((none, both))]


def test_the_papers_findings_hold_or_fail_one_by_one():
    assert verdicts() == [True, True, True, True]
    worse = made("extractive", "none", leaking=52).runs[:1]
    worse += made("extractive", "none", leaking=40).runs[1:]
    assert verdicts(none={"runs": worse}) == [False, True, True, True]
    leaky = made("extractive", "both", coherence=0.66, leaking=1, published=32).runs
    assert verdicts(both={"runs": leaky}) == [True, False, True, True]
    loose = made("extractive", "both", coherence=0.61, published=32).runs
    assert verdicts(both={"runs": loose}) == [True, True, False, True]
    fewer = made("extractive", "none", leaking=52, published=53).runs
    assert verdicts(none={"runs": fewer}) == [True, True, True, False]


def test_the_papers_numbers_are_those_it_states():
    none = PAPER["extractive", "none"]
    assert f"{none.clusters.value:.1%} {none.canaries.value:.2%}" == "96.2% 2.78%"
    assert list(none.indicators.values()) == [17, 20, 27]
