from __future__ import annotations

import pytest

from dynaserve.mia.reproduce import DEFAULT, TRAINING, adaptive_table, differences, paper_table
from dynaserve.mia.reproduce.rows import Exposure

LEAKS = {
    "1": Exposure(0.7, 0.91, "lira_online"),
    "100": Exposure(0.7, 0.92, "lira_online@100"),
    "near50": Exposure(0.8, 0.93, "boosted@near50"),
}


@pytest.mark.parametrize(
    ("name", "midput"),
    [
        ("advreg", "+.017"),
        ("memguard", "+.018"),
        ("relaxloss", "+.047"),
        ("selena", "+.073"),
        ("hamp", "+.074"),
        ("dynanoise-paper", "+.097"),
    ],
)
def test_the_papers_midput_over_four_attacks_follows_from_its_figures(name, midput, row):
    undefended = row()
    (cells,) = paper_table("t", [row(name=name)], undefended).rows
    assert cells[-1] == f"+.000 / {midput}"


def test_the_papers_figures_stand_beside_ours(row):
    (cells,) = paper_table("t", [row()], row()).rows
    assert cells[:6] == (
        "none", ".600 / .787", ".750 / .612", ".750 / .618", ".750 / .639", ".750 / .610",
    )  # fmt: skip


def test_what_the_paper_does_not_have_is_a_dash(row):
    (cells,) = paper_table("t", [row(name="rank-template")], row()).rows
    assert cells[1] == ".600 / –"
    assert cells[-1] == "+.000 / –"


def test_the_adaptive_table_has_each_form_of_asking_and_the_floor(row):
    table = adaptive_table("digits", [row(exposures=LEAKS)], row(exposures=LEAKS))
    assert table.columns == (
        "defense", "accuracy", "1 query", "100 repeats", "50 near",
        "label, 1", "label, near50", "ECE", "MIDPUT",
    )  # fmt: skip
    assert table.rows == (
        ("none", ".600", ".910", ".920", ".930", ".700", ".800", ".200", "+.000"),
    )


def test_a_form_that_was_not_asked_is_a_dash_and_no_undefended_row_means_no_midput(row):
    without = row(name="memguard", exposures={"1": LEAKS["1"], "100": LEAKS["100"]})
    table = adaptive_table("t", [row(exposures=LEAKS), without], None)
    assert table.rows[1][4] == table.rows[1][6] == "–"
    assert table.rows[1][-1] == ""


def test_tables_fit_into_110_columns(row):
    rows = [row(name=name, exposures=LEAKS) for name in (*DEFAULT, *TRAINING)]
    for make in (adaptive_table, paper_table):
        table = make("t", rows, rows[0])
        widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
        assert sum(widths) + 2 * len(widths) <= 110


def test_the_notes_say_what_was_trained():
    notes = differences("three layers, 5 epochs")
    assert "Ours: three layers, 5 epochs" in notes[0]
    assert ".796 -> .796" in notes[-1]
