from __future__ import annotations

import pytest

from dynaserve.rlaa.evaluation.fidelity import Fidelity
from dynaserve.rlaa.evaluation.judging import Verdict
from dynaserve.rlaa.evaluation.privacy import Attack, Rate
from dynaserve.rlaa.evaluation.results import MRSRound, Row
from dynaserve.rlaa.evaluation.tables import (
    attribute_table,
    balanced_table,
    make_tables,
    mrs_table,
    number,
    paper_table,
    privacy_table,
    utility_table,
)

SEX = Rate(10, 0.7, 0.6, 0.05, 0.65)
ROW = Row(
    name="RLAA edit",
    released=0.9,
    fidelity=Fidelity(0.95, 0.9, 0.85, 0.8),
    attacks={
        "linear": Attack(SEX, {"sex": SEX}),
        "embedded": Attack(
            Rate(20, 0.2, 0.25, 0.1),
            {"birth_place": Rate(10, 0.3, 0.2, 0.1), "sex": Rate(10, 0.1, 0.3, 0.1)},
        ),
    },
    own=("embedded",),
    statuses={"anonymized": 9},
    mrs=(MRSRound(9, 0.1, 0.2, None, 1), MRSRound(2, None, None, None, 2)),
)


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, ".500"), (1.0, "1.000"), (-0.1, "-.100"), (0.0, ".000")]
)
def test_numbers_have_three_decimals_and_no_zero_before(value, text):
    assert number(value) == text


def test_utility_has_a_column_for_the_judge_where_there_was_one():
    table = utility_table("t", [ROW])
    assert table.columns[-1] == "kept"
    assert table.rows == (("RLAA edit", ".900", ".950", ".900", ".850", ".800"),)
    judged = Row(**vars(ROW) | {"verdict": Verdict(0.9, 0.6, 0.9)})
    assert utility_table("t", [judged, ROW]).columns[-1] == "UTIL (judge)"
    assert [row[-1] for row in utility_table("t", [judged, ROW]).rows] == [".800", "–"]


def test_privacy_stands_beside_the_floor_and_marks_the_loops_own_attackers():
    table = privacy_table("t", [ROW])
    assert table.columns == ("anonymizer", "linear", "embedded")
    assert table.rows == (
        ("(records)", "10", "20"),
        ("(constant guess)", ".600", ".250"),
        ("RLAA edit", ".700 (+.100 ± .050)", ".200† (-.050 ± .100)"),
    )


def test_attributes_come_in_the_papers_order():
    table = attribute_table("t", [ROW], "embedded")
    assert table.columns == ("anonymizer", "sex", "birth place")
    assert table.rows == (
        ("(records)", "10", "10"),
        ("(constant guess)", ".300", ".200"),
        ("RLAA edit†", ".100", ".300"),
    )


def test_balanced_accuracy_stands_beside_chance():
    assert balanced_table("t", [ROW]).rows == (("(chance)", ".500"), ("RLAA edit", ".650"))


def test_mrs_has_a_column_for_each_round_and_only_for_loops():
    bare = Row(**vars(ROW) | {"name": "none", "mrs": ()})
    short = Row(**vars(ROW) | {"name": "short", "mrs": ROW.mrs[:1]})
    assert mrs_table("t", [bare, ROW, short]).rows == (
        ("RLAA edit", ".200 (9)", "∞ (2)"),
        ("short", ".200 (9)", "–"),
    )


def test_the_papers_figures_are_the_papers():
    assert paper_table().rows == (
        ("RLAA", ".879", ".213", ".596"),
        ("FgAA-Naive", ".730", ".195", "–"),
        ("IncogniText", ".633", ".123", "–"),
        ("SEAL", ".464", ".179", "–"),
    )


def test_a_table_for_a_page():
    lines = balanced_table("t", [ROW]).markdown().splitlines()
    assert lines == [
        "**t: balanced accuracy, linear**",
        "",
        "| anonymizer | sex, 2 classes |",
        "| - | -: |",
        "| (chance) | .500 |",
        "| RLAA edit | .650 |",
    ]


def test_without_the_linear_attacker_there_is_no_balanced_accuracy():
    alone = Row(**vars(ROW) | {"attacks": {"embedded": ROW.attacks["embedded"]}})
    assert not any("balanced" in table.title for table in make_tables("t", [alone]))
