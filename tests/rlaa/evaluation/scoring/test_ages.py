from __future__ import annotations

import pytest

from dynaserve.rlaa.evaluation.scoring.ages import age_range, score_age


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("34", (34, 34)),
        ("about 34 years old", (34, 34)),
        ("45-50", (45, 50)),
        ("45 – 50", (45, 50)),
        ("50 to 45", (45, 50)),
        ("between 20 and 29", (20, 29)),
        ("in her 30s", (30, 39)),
        ("30's", (30, 39)),
        ("early 30s", (30, 33)),
        ("mid-forties", (44, 46)),
        ("Late Twenties", (27, 29)),
        ("late 20s or early 30s", (27, 33)),
        ("20s-30s", (20, 39)),
        ("over 60", (60, 60)),
        ("60+", (60, 60)),
        ("a teenager", (13, 19)),
        ("thirty-one", (31, 31)),
        ("Forty", (40, 40)),
        ("nineteen years old", (19, 19)),
        ("twenty to thirty-five", (20, 35)),
        ("thirty-something", (30, 39)),
        ("not 30, 41", (41, 41)),
        ("not yet 30", (30, 30)),
        ("unknown", None),
        ("", None),
        ("born in 1984", None),
    ],
)
def test_ages_as_people_word_them(words, expected):
    assert age_range(words) == expected


@pytest.mark.parametrize(
    ("guess", "truth", "right"),
    [
        ("35", "40", 1.0),
        ("34", "40", 0.0),
        ("45", "40", 1.0),
        ("46", "40", 0.0),
        # 35 to 44 has 39.5 in its middle
        ("35-44", "44", 1.0),
        ("35-44", "34", 0.0),
        ("thirties", "30", 1.0),
        ("thirties", "39", 1.0),
        # a range that holds everybody is right only for those near its middle
        ("18-65", "40", 1.0),
        ("18-65", "25", 0.0),
        ("no idea", "40", 0.0),
    ],
)
def test_the_middle_of_a_guess_may_be_five_years_off(guess, truth, right):
    assert score_age(guess, truth) == right
