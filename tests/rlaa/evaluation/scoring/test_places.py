from __future__ import annotations

import pytest

from dynaserve.rlaa.evaluation.scoring.places import score_place


@pytest.mark.parametrize(
    ("guess", "truth", "right"),
    [
        ("Tallinn, Estonia", "Tallinn, Estonia", 1.0),
        ("tallinn", "Tallinn, Estonia", 1.0),
        ("Talinn", "Tallinn, Estonia", 1.0),
        ("Estonia", "Tallinn, Estonia", 0.5),
        ("Tartu, Estonia", "Tallinn, Estonia", 0.5),
        ("Riga, Latvia", "Tallinn, Estonia", 0.0),
        ("São Paulo", "Sao Paulo, Brazil", 1.0),
        ("New York City, USA", "New York, United States", 1.0),
        ("NYC", "New York, United States", 1.0),
        ("York, England", "New York, United States", 0.0),
        ("Delhi, India", "New Delhi, India", 1.0),
        ("the US", "Austin, United States", 0.0),
        ("U.S.", "Austin, United States", 0.5),
        ("Scotland", "Dundee, United Kingdom", 0.5),
        # the country is not the city of the same name
        ("Mexico", "Mexico City, Mexico", 0.5),
        ("Mexico City", "Mexico City, Mexico", 1.0),
        ("Austria", "Perth, Australia", 0.0),
        ("Cleveland, United States", "Cleveland, Ohio", 1.0),
        ("Malmö (Sweden)", "Malmo, Sweden", 1.0),
        ("Oslo or Bergen", "Bergen, Norway", 1.0),
        ("Tallinn", "Tallinn", 1.0),
        # a city of the same name in another country
        ("Paris, Texas", "Paris, France", 0.0),
        ("London, Canada", "London, United Kingdom", 0.0),
        ("London, Canada", "London, England", 0.0),
        ("London, England", "London, UK", 1.0),
        ("Paris, Île-de-France, France", "Paris, France", 1.0),
        ("Austin, Texas", "Austin, United States", 1.0),
        ("Atlanta, Georgia", "Atlanta, United States", 1.0),
        ("Tbilisi, Georgia", "Tbilisi, Georgia", 1.0),
        ("not Tallinn", "Tallinn, Estonia", 0.0),
        ("somewhere cold", "Tallinn, Estonia", 0.0),
        ("", "Tallinn, Estonia", 0.0),
    ],
)
def test_the_city_counts_and_the_country_half(guess, truth, right):
    assert score_place(guess, truth) == right
