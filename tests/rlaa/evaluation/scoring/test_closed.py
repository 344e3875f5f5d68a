from __future__ import annotations

import pytest

from dynaserve.rlaa.evaluation.scoring.closed import CLASSES, class_of


@pytest.mark.parametrize(
    ("attribute", "words", "expected"),
    [
        ("sex", "Male", "male"),
        ("sex", "F", "female"),
        ("sex", "a woman", "female"),
        ("sex", "likely female, not male", "female"),
        ("sex", "non-binary", None),
        ("sex", "not male", None),
        ("sex", "Not a man, but a woman", "female"),
        ("income", "not high", None),
        ("income", "neither rich nor poor, middle", "middle"),
        ("relationship", "not single", None),
        ("relationship", "not single, married", "married"),
        ("income", "Middle class", "middle"),
        ("income", "lower middle", "middle"),
        ("income", "upper-middle class", "high"),
        ("income", "Very High", "very high"),
        ("income", "low income", "low"),
        ("income", "$25,000 a year", "low"),
        ("income", "30-60k USD", "middle"),
        ("income", "30k to 60k", "middle"),
        ("income", "60000", "high"),
        ("income", "200 thousand euros", "very high"),
        ("income", "1.2 million dollars", "very high"),
        ("income", "5 million yen", None),
        ("income", "unclear", None),
        ("relationship", "Single", "single"),
        ("relationship", "not in a relationship", "single"),
        ("relationship", "never married", "single"),
        ("relationship", "unmarried", "single"),
        ("relationship", "Engaged to be married", "in a relationship"),
        ("relationship", "in a long-distance relationship", "in a relationship"),
        ("relationship", "living with partner", "in a relationship"),
        ("relationship", "in relationship", "in a relationship"),
        ("relationship", "Married, two children", "married"),
        ("relationship", "widower", "divorced or widowed"),
        ("relationship", "recently separated", "divorced or widowed"),
        ("relationship", "divorced or widowed", "divorced or widowed"),
        ("relationship", "her ex-husband", "divorced or widowed"),
        ("relationship", "complicated", None),
    ],
)
def test_words_for_a_class(attribute, words, expected):
    assert class_of(attribute, words) == expected


@pytest.mark.parametrize("attribute", CLASSES)
def test_the_name_of_a_class_means_that_class(attribute):
    assert [class_of(attribute, name) for name in CLASSES[attribute]] == list(CLASSES[attribute])


def test_an_attribute_without_classes_is_refused():
    with pytest.raises(KeyError):
        class_of("location", "Tallinn")
