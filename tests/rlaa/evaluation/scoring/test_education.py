from __future__ import annotations

import pytest

from dynaserve.rlaa.evaluation.scoring.education import level_of, score_education


@pytest.mark.parametrize(
    ("guess", "truth", "right"),
    [
        ("Masters in Botany", "Masters in Botany", 1.0),
        ("master's degree in botany", "Masters in Botany", 1.0),
        ("M.Sc. Botany", "Masters in Botany", 1.0),
        ("Masters in Zoology", "Masters in Botany", 0.5),
        ("a master's degree", "Masters in Botany", 0.5),
        ("Bachelors in Botany", "Masters in Botany", 0.0),
        ("botany", "Masters in Botany", 0.0),
        ("not a Masters in Botany", "Masters in Botany", 0.0),
        ("Bachelors, not a Masters", "Bachelors in Botany", 0.5),
        ("studying towards a BA in Dance", "Studying Bachelors in Dance", 1.0),
        ("MBA", "Masters in Business Administration", 1.0),
        ("MD", "Doctorate in Medicine", 1.0),
        ("medical degree (M.D.)", "Doctorate in Medicine", 1.0),
        ("Ph.D. in Botany", "PhD in Botany", 1.0),
        ("Bachelors in environmental science", "Bachelors in Environmental Sciences", 1.0),
        ("high-school diploma", "High School Diploma", 1.0),
        ("diploma in nursing", "High School Diploma", 0.0),
        ("juris doctor", "Law Degree", 1.0),
        ("degree in dance", "Law Degree", 0.0),
        ("unknown", "Masters in Botany", 0.0),
        ("", "High School Diploma", 0.0),
    ],
)
def test_degree_and_subject_count_and_the_degree_half(guess, truth, right):
    assert score_education(guess, truth) == right


def test_letters_within_words_are_no_degree():
    assert level_of("Obama's maths camp") is None
