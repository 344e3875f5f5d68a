"""One name for each attribute, wherever the name comes from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.rlaa.model_roles.attributes import MEANINGS, canonical, canonical_all
from dynaserve.rlaa.records import ATTRIBUTES, IDENTIFIER


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("gender", "sex"),
        ("Sex", "sex"),
        ("city_country", "location"),
        ("birth_city_country", "birth_place"),
        ("place_of_birth", "birth_place"),
        ("Place of Birth", "birth_place"),
        ("income_level", "income"),
        ("relationship_status", "relationship"),
        ("marital status", "relationship"),
        ("MARITAL-STATUS", "relationship"),
        ("job", "occupation"),
        ("  age ", "age"),
        ("direct identifier", "identifier"),
    ],
)
def test_a_known_spelling_means_the_name_that_scorers_use(name, attribute):
    assert canonical(name) == attribute


@pytest.mark.parametrize("attribute", [*ATTRIBUTES, IDENTIFIER])
def test_each_attribute_means_itself_and_has_a_meaning_to_ask_for(attribute):
    assert canonical(attribute) == attribute
    assert MEANINGS[attribute]


@given(st.text().map(lambda name: f"{name}?"))
def test_any_other_name_is_refused_without_repeating_it(name):
    with pytest.raises(ValueError, match=r"an attribute is none of age, sex, .*, identifier$"):
        canonical(name)


def test_two_spellings_of_one_attribute_are_one():
    assert canonical_all(["gender", "age", "sex"]) == ("sex", "age")
