"""Edits between two texts, and two rounds of edits as one."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dynaserve.rlaa.alignment import compose, difference, kept
from dynaserve.rlaa.records import Edit, Span
from dynaserve.rlaa.spans import apply

TEXTS = st.text(alphabet="ab é🙂\n.", max_size=30)


@st.composite
def edits_of(draw: st.DrawFn, text: str) -> list[Edit]:
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    spans = [Span(*pair) for pair in zip(cuts[::2], cuts[1::2], strict=False) if pair[0] < pair[1]]
    return [
        Edit(span, text[span.start : span.end], draw(st.text(alphabet="xyz", max_size=3)), "age")
        for span in spans
    ]


@given(TEXTS, st.data())
def test_composed_edits_lead_from_the_first_text_to_the_last(
    text: str, data: st.DataObject
) -> None:
    first = data.draw(edits_of(text))
    middle = apply(text, first)
    then = data.draw(edits_of(middle))
    composed = compose(text, first, then)
    assert apply(text, composed) == apply(middle, then)
    ends = [edit.span for edit in composed]
    assert all(left.end <= right.start for left, right in pairwise(ends))


def test_a_second_edit_of_the_same_words_is_one_edit_of_the_original() -> None:
    first = [Edit(Span(3, 8), "Porto", "Portugal", "location")]
    then = [Edit(Span(3, 11), "Portugal", "Europe", "age"), Edit(Span(12, 15), "now", "", "age")]
    assert compose("in Porto now", first, then) == (
        Edit(Span(3, 8), "Porto", "Europe", "location"),
        Edit(Span(9, 12), "now", "", "age"),
    )


def test_an_edit_taken_back_is_none() -> None:
    first = [Edit(Span(0, 1), "a", "bb", "age")]
    assert compose("a c", first, [Edit(Span(0, 2), "bb", "a", "age")]) == ()


@given(TEXTS, TEXTS)
def test_a_difference_leads_from_one_text_to_the_other(before: str, after: str) -> None:
    assert apply(before, difference(before, after)) == after


def test_a_difference_is_made_of_words() -> None:
    edits = difference("I live in Porto, Portugal.", "I lived in Spain, Portugal!")
    assert [(e.before, e.after) for e in edits] == [
        ("live", "lived"),
        ("Porto", "Spain"),
        (".", "!"),
    ]


def test_what_is_kept_is_counted_in_characters_of_the_original() -> None:
    assert kept("abcde fghi", "abcde x") == 0.6
    assert kept("", "") == 1
    assert kept("", "x") == 0
    assert kept("abc", "abc more") == 1
    assert kept("abc", "") == 0
