"""Who is asked when, and what becomes of the answers' times."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks import service
from benchmarks.service import FEATURES, UNDEFENDED, Workload
from dynaserve import load_defense
from dynaserve.serving.inference.described import name_of
from dynaserve.serving.models import load_model
from tests.benchmarks.results import rounds, served


def test_a_round_goes_forwards_and_backwards_and_begins_with_another_server_each_time() -> None:
    assert "".join(service.order(list("abc"), 0)) == "abccba"
    assert "".join(service.order(list("abc"), 1)) == "bcaacb"
    assert "".join(service.order(list("abc"), 3)) == "abccba"


def test_figures_are_over_all_requests_and_relative_to_the_undefended_server() -> None:
    summary = service.summarize(rounds({UNDEFENDED: 2.0, "dynanoise": 3.0}))
    dynanoise = summary["dynanoise"]
    assert dynanoise["milliseconds"] == pytest.approx({"p50": 3.0, "p90": 3.0, "p99": 3.0})
    assert dynanoise["per_second"] == pytest.approx(1e3 / 3)
    for ratio in dynanoise["relative"].values():
        assert ratio == pytest.approx((1.5, 1.5, 1.5))
    assert summary[UNDEFENDED]["relative"]["p50"].value == 1.0


def test_results_survive_json_and_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    results = json.loads(json.dumps(served()))
    cells = {row[3]: row for row in service.cells(results["cases"][0])}
    assert len(cells["dynanoise"]) == len(service.COLUMNS)
    assert cells["dynanoise"][-2:] == ["+1.0% ± 0.0", "+1.0% ± 0.0"]
    assert cells[UNDEFENDED][-2:] == ["", ""]
    service.print_tables(Console(width=80), results)
    output = capsys.readouterr().out
    assert "control" in output
    assert "JSON requests of 1 x 10" in output
    assert "binary requests of 1 x 10" in output
    assert "…" not in output


def test_the_large_model_is_one_that_dynaserve_serves(tmp_path: Path) -> None:
    workload = Workload(2, 400, {1: 1})
    servers = service.servers_of(workload, tmp_path)
    source = servers["dynanoise"][0]
    assert all(arguments[0] == source for arguments in servers.values())
    assert servers[UNDEFENDED] == servers["control"]
    model = load_model(source, trust_pickle=False)
    assert name_of(Path(source).name) == service.model_of(workload)
    rows = service.requested_rows(workload.rows)
    assert rows.shape == (2, FEATURES)
    logits = model.logits(rows)
    assert logits.shape == (2, 400)
    assert 2 < np.std(logits) < 10
    template = load_defense(servers["rank-template"][-1])
    assert template(logits, queries=rows).shape == (2, 400)


def test_an_answer_of_another_shape_is_refused() -> None:
    service._require_answer((1, 2), Workload(1, 2, {}))
    with pytest.raises(RuntimeError, match="something else"):
        service._require_answer((1, 2), Workload(1, 10, {}))
