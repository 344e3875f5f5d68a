from __future__ import annotations

import numpy as np
import pytest

from dynaserve.canarybench.matching.layers import Skeleton
from dynaserve.canarybench.matching.spelled import OPENINGS, rewritten, spellings, surroundings


def read(text: str) -> list[str]:
    skeleton = Skeleton.of(text)
    places = [i for i in range(len(skeleton.text)) if skeleton.text[i : i + 8] in OPENINGS]
    return [part.text for part in rewritten(skeleton, np.array(places, int), 100)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Call four one five, five five 5!", ["call415555"]),
        ("fourfive\nsix", ["456"]),
        ("double five oh triple seven two one", ["55077721"]),
        ("one nine two dot one six eight dash one", ["1921681"]),
        ("one or two", []),
        ("four two", []),
    ],
)
def test_three_number_words_in_a_row_are_digits(text: str, expected: list[str]) -> None:
    assert read(text) == expected


def test_digits_lead_to_their_words() -> None:
    text = "at four one five!"
    skeleton = Skeleton.of(text)
    (part,) = rewritten(skeleton, np.array([2]), 100)
    at = part.text.index("1")
    start, end = part.origin(at, at + 1)
    assert text[start:end] == "one"


def test_a_value_is_looked_for_as_it_is_written_and_said() -> None:
    said = spellings("jo.b7@x-y.org")
    assert {"job7xyorg", "jodotb7atxydotorg", "jodotb7atxdashydotorg", "jobsevenxyorg"} <= said


def test_letters_whose_case_looks_different_are_looked_for_in_both() -> None:
    # The Greek capital looks like a Latin N, the small letter like a v.
    assert {"vikos", "nikos"} == {text[0] + "ikos" for text in spellings("νικος") if text}


def test_surroundings_merge_and_stay_inside() -> None:
    assert surroundings(np.array([2, 5, 50]), 3, 52) == [(0, 8), (47, 52)]
    assert surroundings(np.zeros(0, int), 3, 52) == []
