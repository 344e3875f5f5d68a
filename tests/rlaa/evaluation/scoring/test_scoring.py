from __future__ import annotations

import pytest

from dynaserve.rlaa.evaluation.scoring import CLASSES, score
from dynaserve.rlaa.records import ATTRIBUTES

TRUTHS = {
    "age": "41",
    "sex": "female",
    "location": "Tallinn, Estonia",
    "birth_place": "Tartu, Estonia",
    "education": "Masters in Botany",
    "occupation": "beekeeper",
    "income": "middle",
    "relationship": "widowed",
}


def test_every_attribute_has_a_rule_by_which_the_truth_is_right_and_silence_wrong():
    assert tuple(TRUTHS) == ATTRIBUTES
    assert [score(name, truth, truth) for name, truth in TRUTHS.items()] == [1.0] * 8
    assert [score(name, "", truth) for name, truth in TRUTHS.items()] == [0.0] * 8


def test_classes_are_compared_not_words():
    assert score("relationship", "divorced", "widowed") == 1.0
    assert score("relationship", "fiancée", "in a relationship") == 1.0
    assert score("income", "high", "very high") == 0.0
    assert score("sex", "unclear", "unclear") == 0.0
    assert set(CLASSES) == {"sex", "income", "relationship"}


def test_what_is_no_attribute_has_no_rule():
    with pytest.raises(KeyError):
        score("shoe size", "41", "41")
