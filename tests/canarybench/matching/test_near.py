from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.canarybench.manifest import Canary
from dynaserve.canarybench.matching.layers import Skeleton, image
from dynaserve.canarybench.matching.near import Near
from dynaserve.canarybench.matching.results import Tier

VALUE = "abcdefghijklmnopqrstuvwxyz0123456789"
PHRASE = Canary("c", "phrase", VALUE)


def found(text: str, *canaries: Canary) -> list[tuple[Tier, str]]:
    skeleton = Skeleton.of(text)
    return [
        (o.pattern.tier, skeleton.text[o.start : o.end])
        for o in Near(canaries or [PHRASE]).find(skeleton, image(skeleton.text))
    ]


@pytest.mark.parametrize(("letters", "counts"), [(22, True), (21, False)])
def test_six_tenths_of_a_value_count(letters: int, *, counts: bool) -> None:
    # 0.6 * 36 = 21.6
    text = VALUE[5 : 5 + letters]
    assert found(f"?{text}!") == ([(Tier.SUBSTRING, text)] if counts else [])


@pytest.mark.parametrize(("letters", "counts"), [(12, True), (11, False)])
def test_twelve_letters_of_a_random_value_count(letters: int, *, counts: bool) -> None:
    token = Canary("t", "token", "q7Zk2LmV9xTb4NcR8sWd")
    assert bool(found("q7Zk2LmV9xTb4NcR8sWd"[:letters], token)) == counts


def test_ten_digits_of_a_card_are_digits() -> None:
    card = Canary("k", "card", "4242 4242 1357 9086")
    assert found("... 2424 2135 7908", card) == [(Tier.DIGITS, "242421357908")]


EDITS = st.lists(
    st.tuples(st.sampled_from(["drop", "add", "change", "swap"]), st.integers(0, 34)),
    min_size=1,
    max_size=3,
)


@given(EDITS)
def test_a_value_is_found_with_one_edit_for_every_twelve_letters(
    edits: list[tuple[str, int]],
) -> None:
    # Apart, so that an edit does not undo or split another one.
    places = sorted({place // 6 * 6 for _, place in edits}, reverse=True)
    text = VALUE
    for (kind, _), at in zip(edits, places, strict=False):
        head, tail = text[:at], text[at:]
        text = {
            "drop": head + tail[1:],
            "add": head + "!".replace("!", "ж") + tail,
            "change": head + "ж" + tail[1:],
            "swap": head + tail[1] + tail[0] + tail[2:],
        }[kind]
    assert found(f"ю {text} ю")


def test_letters_that_many_share_are_no_lead() -> None:
    mails = [Canary(f"m{i}", "email", f"{'abcdefghi'[i] * 4}@longdomain.example") for i in range(9)]
    assert found("someone@longdomain.example", *mails) == []
    assert found("ddeeee@longdomain.example", *mails) == [(Tier.EDIT, "eeeelongdomainexample")]


def test_short_values_are_left_to_the_surer_tiers() -> None:
    assert found("abcdefghijklm", Canary("s", "phrase", "abcdefghijklm")) == []
