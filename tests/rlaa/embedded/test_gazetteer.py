"""Names of places, and words that only look like them."""

from __future__ import annotations

import pytest

from dynaserve.rlaa.embedded.gazetteer import folded, is_ordinary, mentions, places
from dynaserve.rlaa.embedded.regions import _CONTINENTS, _REGIONS, region_of


def named(text: str) -> list[tuple[str, str]]:
    return [(text[m.start : m.end], m.place.name) for m in mentions(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Porto", [("Porto", "Porto, Portugal")]),
        ("in malm\u00f6", [("malm\u00f6", "Malm\u00f6, Sweden")]),
        ("S\u00e3o Paulo's streets", [("S\u00e3o Paulo", "S\u00e3o Paulo, Brazil")]),
        ("New York City, then", [("New York City", "New York City, United States")]),
        ("the UK and the U.S.", [("UK", "United Kingdom"), ("U.S.", "United States")]),
        ("join us, uk", []),
        ("South America", []),
        ("RIO DE JANEIRO.", [("RIO DE JANEIRO", "Rio de Janeiro, Brazil")]),
        ("portobello", []),
        ("Paris, TX", [("Paris, TX", "Paris, United States")]),
        ("Paris, IT", [("Paris", "Paris, France")]),
        ("London, Ontario", [("London", "London, Canada"), ("Ontario", "Canada")]),
        ("Paris, Germany", [("Paris", "Paris, France"), ("Germany", "Germany")]),
        ("Paris, France. Paris, Texas. Paris", [("Paris", "Paris, France"), ("France", "France"),
            ("Paris", "Paris, United States"), ("Texas", "Texas, United States"),
            ("Paris", "Paris, United States")]),
        ("Paris? Paris, Texas!", [("Paris", "Paris, United States")] * 2
            + [("Texas", "Texas, United States")]),
    ],
)  # fmt: skip
def test_the_longest_name_is_found(text: str, expected: list[tuple[str, str]]) -> None:
    assert named(text) == expected


def test_words_are_told_from_names() -> None:
    assert all(map(is_ordinary, ("Nice", "Reading", "Mobile", "Turkey", "May")))
    assert not is_ordinary("Kyoto")


def test_no_region_is_a_place_again() -> None:
    for region in (*_REGIONS, *_CONTINENTS.values()):
        assert named(f"in {region} now") == []
        assert named(region.upper()) == []


def test_every_country_has_a_region_that_does_not_name_it() -> None:
    for name, place in places().items():
        if place and place.kind == "country" and name != "america":
            assert name not in place.region.lower().split(), name


def test_folding_forgives_case_accents_and_dots() -> None:
    assert folded("S\u00e3o.Paulo") == "saopaulo"
    assert region_of("PT", "EU") == "southern Europe"
