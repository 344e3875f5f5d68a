from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.canarybench.matching.layers import Layer, Skeleton, image, skeleton_of
from dynaserve.canarybench.matching.letters import letters

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=60)


@given(ANY_TEXT)
def test_every_letter_of_a_skeleton_comes_from_its_character(text: str) -> None:
    skeleton = Skeleton.of(text)
    assert skeleton.text == skeleton_of(text)
    for i, letter in enumerate(skeleton.text):
        start, end = skeleton.origin(i, i + 1)
        assert end == start + 1
        assert letter in letters(text[start])


def test_one_character_may_become_several_and_several_none() -> None:
    skeleton = Skeleton.of("ﬃ—\u200bİx")
    assert skeleton.text == "ffiix"
    assert [skeleton.origin(i, i + 1)[0] for i in range(5)] == [0, 0, 0, 3, 4]
    assert skeleton.origin(0, 5) == (0, 5)


def test_a_layer_knows_its_place_in_the_original() -> None:
    skeleton = Layer.of("a-b", start=10).plain().skeleton()
    assert skeleton.origin(1, 2) == (12, 13)


def test_a_mirrored_skeleton_leads_to_the_same_places() -> None:
    skeleton = Skeleton.of("ab. cd")
    assert skeleton.mirrored().text == "dcba"
    assert skeleton.mirrored().origin(0, 2) == skeleton.origin(2, 4) == (4, 6)


def test_letters_touch_if_nothing_lies_between() -> None:
    skeleton = Skeleton.of("ab-c")
    assert skeleton.touches(0)
    assert not skeleton.touches(1)
    assert skeleton.mirrored().touches(1)
    assert not skeleton.mirrored().touches(0)


def test_an_image_is_a_byte_a_letter_and_padding() -> None:
    assert image("ab").tobytes() == b"ab" + bytes(8)
    mixed = image("a日b")
    assert (mixed[0], mixed[2]) == (ord("a"), ord("b"))
    assert mixed[1] >= 128
    assert np.all(mixed[3:] == 0)
    assert len(mixed) == 11
