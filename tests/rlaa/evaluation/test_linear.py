from __future__ import annotations

import sys

import numpy as np
import pytest

from dynaserve.rlaa.evaluation.data import read_people, read_records
from dynaserve.rlaa.evaluation.linear import LinearAttacker
from dynaserve.rlaa.evaluation.scoring import class_of


@pytest.fixture(scope="module")
def people(data):
    return read_people(data)


def test_it_learns_what_people_of_a_class_write(people, make_record):
    attacker = LinearAttacker(people)
    assert attacker.people == 24
    assert attacker.guess(make_record("sex"), "pregnancy and nursery") == "female"
    assert attacker.guess(make_record("sex"), "at the barber for a beard") == "male"
    assert attacker.guess(make_record("income"), "our yacht") == "high"
    assert attacker.guess(make_record("relationship"), "custody!") == "divorced or widowed"


def test_people_it_will_meet_teach_it_nothing(people):
    met = [person.truth for person in people[:5]]
    assert LinearAttacker(people, met).people == 19
    with pytest.raises(ValueError, match="nobody to learn from"):
        LinearAttacker(people, [person.truth for person in people])


def test_it_always_guesses_and_always_the_same(people, make_record):
    record = make_record("sex")
    guesses = {LinearAttacker(people).guess(record, "") for _ in range(2)}
    assert len(guesses) == 1
    assert guesses <= {"male", "female"}


def test_an_attribute_without_classes_is_none_of_its_own(people, make_record):
    attacker = LinearAttacker(people)
    assert attacker.attributes == ("sex", "income", "relationship")
    with pytest.raises(KeyError):
        attacker.guess(make_record("location"), "Tallinn")


def test_without_scikit_learn_the_extra_is_named(people, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(ImportError, match=r'pip install "dynaserve\[audit\]"'):
        LinearAttacker(people)


def test_on_the_real_data_it_reaches_the_reference(shared):
    """Balanced accuracy on undefended texts of people that it has not read."""
    records = read_records(shared)
    attacker = LinearAttacker(read_people(shared), [record.author for record in records])
    assert attacker.people == 260
    reached = {}
    for attribute in attacker.attributes:
        right: dict[str | None, list[bool]] = {}
        for record in records:
            if record.attribute == attribute:
                truth = class_of(attribute, record.truth)
                guess = attacker.guess(record, record.text)
                right.setdefault(truth, []).append(guess == truth)
        reached[attribute] = np.mean([np.mean(hits) for hits in right.values()])
    # About .65, .47 and .43; one of the three texts of the rarest income is .083.
    assert reached["sex"] > 0.63
    assert reached["relationship"] > 0.45
    assert reached["income"] > 0.37
