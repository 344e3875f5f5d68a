"""From pytest-benchmark's medians to tables."""

from __future__ import annotations

import pytest
from rich.console import Console

from benchmarks import report
from tests.benchmarks.results import FORMULA, timed


def test_a_ratio_is_the_median_of_the_sweeps() -> None:
    medians = report.Medians(timed(FORMULA)["benchmarks"])
    assert medians.sizes() == [(1, 10)]
    assert medians.ratio((1, 10), "dynanoise", "softmax") == 0.5


def test_cells_follow_the_columns() -> None:
    medians = report.Medians(timed(FORMULA)["benchmarks"])
    assert medians.cells(report.COMPARISONS[0]) == [
        ["1 x 10", "0.50", "0.25", "10.00", "5.00", "3.00"]
    ]


def test_a_comparison_without_its_library_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert report.Medians(timed(FORMULA)["benchmarks"]).cells(report.COMPARISONS[1]) == []
    report.print_tables(Console(width=80), timed(FORMULA))
    output = capsys.readouterr().out
    assert "adversarial" not in output
    assert "Some CPU, family 1, model 2; 2 cores; avx512 kernels" in output


def test_art_is_shown_where_it_was_measured() -> None:
    columns = report.COMPARISONS[1].columns
    with_art = FORMULA | {column.above: [4.0, 4.0, 4.0] for column in columns}
    cells = report.Medians(timed(with_art)["benchmarks"]).cells(report.COMPARISONS[1])
    assert cells == [["1 x 10", "2.00", "2.00", "2.00", "2.00"]]


def test_tables_fit_a_terminal_of_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    report.print_tables(Console(width=80), timed(FORMULA))
    assert "…" not in capsys.readouterr().out
