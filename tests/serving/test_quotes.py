from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.canarybench import Conversation
from dynaserve.canarybench.serialized import read_release
from dynaserve.serving.quotes import find_quotes

SAID = "The landlord keeps my deposit although the flat was spotless"
LETTERS = 51  # of them, counted by hand: 3+8+5+2+7+8+3+4+3+8


def quotes(
    release: Any, *texts: str, letters: int = 20, k_min: int = 2, redact: Any = str
) -> list[tuple[int, int]]:
    """Return (letters, conversation) of each; every text is by a user of its own."""
    conversations = [Conversation(f"c{n}", f"u{n}", text) for n, text in enumerate(texts)]
    leaves = read_release(json.dumps(release)).leaves
    found = find_quotes(leaves, conversations, redact, letters=letters, k_min=k_min)
    return [(quote.letters, quote.conversation) for quote in found]


def test_a_whole_text_is_one_quote_with_all_its_letters() -> None:
    assert quotes({"summary": f"He said: {SAID}!"}, "Hello.", SAID) == [(LETTERS, 1)]


def test_a_stretch_counts_from_the_threshold_on() -> None:
    assert quotes({"summary": SAID}, SAID, letters=LETTERS) == [(LETTERS, 0)]
    assert quotes({"summary": SAID}, SAID, letters=LETTERS + 1) == []


@pytest.mark.parametrize(
    "disguise",
    [
        str.upper,
        lambda text: text.replace(" ", "\n"),
        lambda text: text.replace(" ", ", "),
        "\u200b".join,
        lambda text: text.replace("a", "а"),  # Cyrillic
        lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    ],
)
def test_case_layout_and_lookalikes_hide_nothing(disguise: Any) -> None:
    assert quotes({"summary": disguise(SAID)}, SAID) == [(LETTERS, 0)]


def test_a_quote_spread_over_a_list_is_found() -> None:
    assert quotes({"keywords": SAID.split()}, SAID) == [(LETTERS, 0)]


def test_its_place_is_where_it_begins_and_ends() -> None:
    leaves = read_release(json.dumps({"a": "Hm.", "b": SAID[:30], "c": SAID[30:]})).leaves
    (quote,) = find_quotes(leaves, [Conversation("c", "u", SAID)], str, letters=20, k_min=2)
    assert (quote.first.path[0].name, quote.last.path[0].name) == ("b", "c")


def test_keys_are_not_part_of_what_is_said() -> None:
    assert quotes({"thelandlordkeepsmydepositalthough": "x"}, SAID) == []


def test_what_enough_users_share_is_nobodys() -> None:
    assert quotes({"summary": SAID}, SAID, SAID, SAID, k_min=3) == []
    assert quotes({"summary": SAID}, SAID, SAID, SAID, k_min=4) == [(LETTERS, 0)]


def test_one_user_does_not_count_twice() -> None:
    same = [Conversation(f"c{n}", "u", SAID) for n in range(5)]
    leaves = read_release(json.dumps({"summary": SAID})).leaves
    assert len(find_quotes(leaves, same, str, letters=20, k_min=2)) == 1


def test_only_the_stretch_that_too_few_share_is_a_quote() -> None:
    shared = "I would like to know how this works. "
    found = quotes({"summary": shared + SAID}, shared + SAID, shared, k_min=2)
    assert len(found) == 1
    # The windows that reach from the shared part into the own one are this user's alone.
    assert found[0][0] == LETTERS + 19


def test_a_text_is_compared_as_the_summarizer_saw_it_too() -> None:
    text = "Write me at ada.quill@example.com by noon"
    redacted = "Write me at [EMAIL] by noon"
    assert quotes({"summary": redacted}, text) == []
    assert quotes({"summary": redacted}, text, redact=lambda _: redacted) == [(20, 0)]
    assert quotes({"summary": text}, text, redact=lambda _: redacted) == [(33, 0)]


words = st.lists(st.sampled_from(["a", "b", "c"]), max_size=30).map("".join)


@given(words, st.lists(words, max_size=4), st.integers(2, 6), st.integers(1, 3))
def test_it_agrees_with_a_search_of_every_window(
    answer: str, texts: list[str], letters: int, k_min: int
) -> None:
    covered: set[int] = set()
    for at in range(len(answer) - letters + 1):
        sharing = sum(answer[at : at + letters] in text for text in texts)
        if 0 < sharing < k_min:
            covered |= {*range(at, at + letters)}
    found = quotes({"": answer + " "}, *texts, letters=letters, k_min=k_min) if answer else []
    starts = [at for at in range(len(answer)) if at in covered]
    assert bool(found) == bool(starts)
    assert sum(length for length, _ in found) >= len(covered)
    assert all(letters <= length <= len(answer) for length, _ in found)


def test_long_answers_and_texts_of_one_letter_end() -> None:
    rng = random.Random(0)
    text = "".join(rng.choice("ab") for _ in range(20_000))
    assert quotes({"summary": "a" * 20_000}, "a" * 20_000, text) == [(20_000, 0)]
