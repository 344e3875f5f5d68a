"""Typography in, capitals out."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.rlaa.embedded import wording
from dynaserve.rlaa.embedded.wording import fit, lowered, plain, recased


@given(st.text())
def test_offsets_stay_what_they_were(text: str) -> None:
    assert len(plain(text)) == len(text) == len(lowered(text))


def test_a_letter_whose_lower_case_is_longer_stays() -> None:
    assert lowered("\u0130A") == "\u0130a"


@pytest.mark.parametrize(
    ("instead", "text", "start", "after"),
    [
        ("southern Europe", "PORTO", 0, "SOUTHERN EUROPE"),
        ("southern Europe", "Porto", 0, "Southern Europe"),
        ("southern Europe", "to Porto", 3, "southern Europe"),
        ("southern Europe", "Hi! Porto", 4, "Southern Europe"),
        ("northern Europe", "UK-born, that's me, all of me", 0, "Northern Europe"),
        ("North America", "in LA", 3, "North America"),
        ("my zip code is [ZIP]", "MY ZIP CODE IS 610", 0, "MY ZIP CODE IS [ZIP]"),
        ("I'm in my teens", "i\u2019m 17", 0, "i\u2019m in my teens"),
    ],
)
def test_a_replacement_takes_the_surface(instead: str, text: str, start: int, after: str) -> None:
    assert fit(instead, text, start, len(text)) == after


@pytest.mark.parametrize(
    ("like", "than", "after"),
    [
        ("PORTO", "Porto", "A BIG CITY, [NAME]"),
        ("PORTO", "PORTO", "a big city, [NAME]"),
        ("Porto", "porto", "A big city, [NAME]"),
        ("porto", "PORTO", "a big city, [NAME]"),
        ("Porto", "Porto", "a big city, [NAME]"),
    ],
)
def test_a_replacement_for_one_spelling_fits_another(like: str, than: str, after: str) -> None:
    assert recased("a big city, [NAME]", like, than) == after


def test_the_examples_run() -> None:
    result = doctest.testmod(wording)
    assert result.attempted > 0
    assert result.failed == 0
