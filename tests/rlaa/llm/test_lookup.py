from __future__ import annotations

from dynaserve.rlaa.llm.lookup import Lookup


def test_new_words_promise_nothing() -> None:
    assert Lookup([1, 2, 3]).guess() == []
    assert Lookup([]).guess() == []


def test_what_followed_before_is_guessed_again() -> None:
    lookup = Lookup([1, 2, 3, 4, 5, 6, 7, 8, 9, 1])
    lookup.add(2)
    assert lookup.guess() == [3, 4, 5]


def test_the_latest_place_counts() -> None:
    assert Lookup([1, 2, 3, 3, 1, 2, 9, 0, 1, 2]).guess()[:1] == [9]


def test_a_guess_ends_with_the_tokens_that_there_are() -> None:
    assert Lookup([5, 5, 5]).guess() == [5]
