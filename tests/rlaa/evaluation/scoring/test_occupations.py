from __future__ import annotations

import pytest

from dynaserve.rlaa.evaluation.scoring.occupations import score_occupation


@pytest.mark.parametrize(
    ("guess", "truth", "right"),
    [
        ("beekeeper", "Beekeeper", 1.0),
        ("bee keeper", "beekeeper", 1.0),
        ("Retired beekeeper", "part-time beekeeper", 1.0),
        ("software developer", "software engineer", 1.0),
        ("university lecturer", "college professor", 1.0),
        ("medical doctor", "surgeon", 1.0),
        ("engineer", "civil engineer", 0.5),
        ("civil engineer", "engineer", 1.0),
        ("financial manager", "financial analyst", 0.0),
        ("manager", "manager", 1.0),
        ("not a nurse", "nurse", 0.0),
        ("not a nurse but a doctor", "doctor", 1.0),
        ("nurse, not a doctor", "nurse", 1.0),
        ("web designer", "graphic designer", 0.0),
        ("student", "beekeeper", 0.0),
        ("", "beekeeper", 0.0),
    ],
)
def test_the_same_work_counts_and_its_kind_half(guess, truth, right):
    assert score_occupation(guess, truth) == right
