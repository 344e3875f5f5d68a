from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.canarybench.matching.grams import GramSet, grams
from dynaserve.canarybench.matching.layers import image


def test_grams_are_the_letters_from_each_place_on() -> None:
    found = grams(image("abcd"), 3)
    assert [int(gram).to_bytes(8, "little").rstrip(b"\0") for gram in found] == [b"abc", b"bcd"]
    assert len(grams(image("ab"), 3)) == 0
    assert len(grams(image(""), 8)) == 0


@given(st.text("ab", max_size=40), st.text("ab", min_size=3, max_size=10), st.integers(1, 3))
def test_a_set_finds_its_members_and_nothing_else(text: str, members: str, width: int) -> None:
    wanted = {members[i : i + width] for i in range(len(members) - width + 1)}
    places, which = GramSet(width, grams(image(members), width)).find(image(text))
    expected = [i for i in range(len(text) - width + 1) if text[i : i + width] in wanted]
    assert places.tolist() == expected
    names = {}
    for place, index in zip(places.tolist(), which.tolist(), strict=True):
        assert names.setdefault(index, text[place : place + width]) == text[place : place + width]


def test_an_empty_set_finds_nothing() -> None:
    places, which = GramSet(4, np.zeros(0, np.uint64)).find(image("whatever"))
    assert len(places) == len(which) == 0
