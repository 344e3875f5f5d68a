from __future__ import annotations

import re

import pytest

from dynaserve.mia.attacks import ATTACKS, LABEL_BEST
from dynaserve.mia.report.curves import FAMILIES, Axes
from dynaserve.mia.results import RocPoints
from tests.mia.report.audits import result

AXES = Axes(0.001)
LEFT, RIGHT, TOP, BOTTOM = 52, 430, 12, 352


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", path)]


def test_decades_are_equally_far_apart_on_both_axes():
    assert [AXES.x(10.0**e) for e in (-3, -2, -1, 0)] == pytest.approx([52, 178, 304, 430])
    assert [AXES.y(10.0**e) for e in (-3, -2, -1, 0)] == pytest.approx(
        [352, 238.67, 125.33, 12], abs=0.01
    )
    assert (AXES.x(0), AXES.y(0)) == pytest.approx((LEFT, BOTTOM))


@pytest.mark.parametrize(
    ("rows", "lowest"), [(10**6, 0.001), (1000, 0.001), (500, 0.002), (2, 0.1)]
)
def test_axes_begin_where_rows_can_still_show_something(rows, lowest):
    assert Axes.for_rows(rows).lowest == lowest


def test_decades_are_labelled():
    assert [tick.label for tick in AXES.x_ticks if tick.label] == ["0.1%", "1%", "10%", "100%"]
    assert len(AXES.y_ticks) == 28
    assert [tick.label for tick in Axes(0.002).y_ticks if tick.label] == ["1%", "10%", "100%"]


def test_guessing_is_the_diagonal():
    drawn = points(AXES.path(RocPoints((0.0, 1.0), (0.0, 1.0))))
    for x, y in drawn:
        assert (x - LEFT) / (RIGHT - LEFT) == pytest.approx((BOTTOM - y) / (BOTTOM - TOP), abs=1e-3)
    assert points(AXES.chance) == [(LEFT, BOTTOM), (RIGHT, TOP)]


def test_a_straight_piece_is_bent_as_the_axes_are():
    """From (0, .5) to (1, 1) the curve is at TPR .55 where FPR is .1."""
    drawn = dict(points(AXES.path(RocPoints((0.0, 0.0, 0.1, 1.0), (0.0, 0.5, 0.55, 1.0)))))
    assert drawn[304.0] == pytest.approx(AXES.y(0.55), abs=0.06)
    assert drawn[52.0] == pytest.approx(AXES.y(0.5005), abs=0.06)
    assert drawn[178.0] == pytest.approx(AXES.y(0.505), abs=0.3)


def test_a_jump_goes_straight_up():
    drawn = points(AXES.path(RocPoints((0.0, 0.1, 0.1, 1.0), (0.0, 0.1, 0.9, 1.0))))
    assert {y for x, y in drawn if x == 304.0} == {round(AXES.y(0.1), 1), round(AXES.y(0.9), 1)}
    assert drawn == sorted(drawn, key=lambda point: (point[0], -point[1]))


def test_every_attack_belongs_to_one_family():
    assert sorted(name for names in FAMILIES.values() for name in names) == sorted(
        [*ATTACKS, LABEL_BEST]
    )


def test_the_strongest_of_a_family_is_drawn_in_its_own_colour():
    results = [result("gap", 0.6), result("loss", 0.7), result("loss", 0.8, "100")]
    lines = AXES.lines({one.name: one for one in results})
    assert [(line.number, line.attack, line.about) for line in lines] == [
        (5, "Loss", "asked 100×, AUC .800"),
        (6, "Label right or wrong", "asked once, AUC .600"),
    ]
