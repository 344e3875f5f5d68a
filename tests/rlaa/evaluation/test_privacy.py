from __future__ import annotations

import math

import pytest

from dynaserve.rlaa.evaluation.privacy import (
    Guess,
    attack_of,
    constant_guesses,
    scored,
)

CONSTANTS = {"sex": "male", "location": "Riga, Latvia", "age": "40"}


def test_a_guess_is_scored_beside_the_constant_one(make_record):
    assert scored(make_record("sex"), "female", CONSTANTS) == Guess("sex", 1.0, 0.0, "female")
    assert scored(make_record("age"), "20", CONSTANTS) == Guess("age", 0.0, 1.0, None)
    assert scored(make_record("location"), "Estonia", CONSTANTS).score == 0.5


def test_who_has_no_guess_says_the_constant_one(make_record):
    assert scored(make_record("age"), None, CONSTANTS) == Guess("age", 1.0, 1.0, None)
    assert scored(make_record("sex"), None, CONSTANTS) == Guess("sex", 0.0, 0.0, "female")
    # Silence is no guess; an empty guess is a wrong one.
    assert scored(make_record("age"), "", CONSTANTS).score == 0.0


def test_the_constant_guess_is_the_one_that_is_right_most_often(make_record):
    ages = [make_record("age", age=str(age)) for age in (20, 21, 30, 34, 38, 60)]
    sexes = [make_record("sex", sex=sex) for sex in ("male", "female", "male")]
    # 33 would reach 30, 34 and 38 too, but only truths are tried: 34 does.
    assert constant_guesses([*ages, *sexes]) == {"age": "34", "sex": "male"}


def test_of_equal_constants_the_first_in_the_alphabet_is_taken(make_record):
    records = [make_record("occupation", occupation=work) for work in ("tailor", "beekeeper")]
    assert constant_guesses(records) == {"occupation": "beekeeper"}


def test_an_attack_is_the_mean_over_all_guesses_and_over_each_attribute():
    guesses = [
        Guess("sex", 1.0, 0.0, "female"),
        Guess("sex", 1.0, 1.0, "male"),
        Guess("sex", 0.0, 1.0, "male"),
        Guess("location", 0.5, 0.0, None),
    ]
    attack = attack_of(guesses, unanswered=2)
    assert attack.unanswered == 2
    assert attack.overall.records == 4
    assert attack.overall.priv == pytest.approx(0.625)
    assert attack.overall.floor == pytest.approx(0.5)
    assert attack.overall.above_floor == pytest.approx(0.125)
    assert attack.overall.balanced is None
    assert list(attack.by_attribute) == ["location", "sex"]
    # females 1 of 1, males 1 of 2
    assert attack.by_attribute["sex"].balanced == pytest.approx(0.75)
    assert attack.by_attribute["location"].balanced is None
    # differences 1, 0, -1, .5 have mean .125 and squares of 2.1875 about it
    assert attack.overall.margin == pytest.approx(1.96 * math.sqrt(2.1875 / 3 / 4))


def test_one_guess_has_no_margin():
    assert attack_of([Guess("age", 1.0, 0.0, None)]).overall.margin == 0.0
