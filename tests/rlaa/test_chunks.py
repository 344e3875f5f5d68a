"""Long texts in pieces: nothing left out, nothing cut that may not be."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.rlaa.chunks import Chunks, sentences
from dynaserve.rlaa.llm.protocol import TooLongError
from dynaserve.rlaa.records import Span
from dynaserve.rlaa.roles import TooMuchError


def reading(text: str, limit: int, seen: list[Span] | None = None) -> Callable[[Span], str]:
    def ask(piece: Span) -> str:
        if piece.end - piece.start > limit:
            raise TooLongError(piece.end - piece.start, limit)
        if seen is not None:
            seen.append(piece)
        return text[piece.start : piece.end]

    return ask


def test_a_text_that_fits_is_read_at_once() -> None:
    text = "One. Two. Three."
    assert Chunks().each(text, reading(text, 100)) == [text]


def test_sentences_of_many_scripts_end_where_they_end() -> None:
    text = 'Hi! "Well?" she said. No\nYes… 東京です。雨。هل؟ نعم.'
    parts = [text[span.start : span.end] for span in sentences(text)]
    assert parts == [
        "Hi! ",
        '"Well?" ',
        "she said. ",
        "No\n",
        "Yes… ",
        "東京です。",
        "雨。",
        "هل؟ ",
        "نعم.",
    ]


@given(st.text(alphabet="ab .!\n。", max_size=80))
def test_sentences_cover_the_text(text: str) -> None:
    assert "".join(text[span.start : span.end] for span in sentences(text)) == text


@given(st.text(alphabet="abc .\n", max_size=120), st.integers(1, 60))
def test_pieces_without_overlap_are_the_text(text: str, limit: int) -> None:
    longest = max((span.end - span.start for span in sentences(text)), default=0)
    if longest > limit:
        with pytest.raises(TooLongError):
            Chunks().each(text, reading(text, limit), overlap=False)
    else:
        assert "".join(Chunks().each(text, reading(text, limit), overlap=False)) == text


@given(st.text(alphabet="abc .\n", max_size=120), st.integers(1, 60))
def test_overlapping_pieces_leave_no_gap_and_are_cut_between_sentences(
    text: str, limit: int
) -> None:
    parts = sentences(text)
    if max((span.end - span.start for span in parts), default=0) > limit:
        return
    seen: list[Span] = []
    Chunks().each(text, reading(text, limit, seen))
    ends = {span.end for span in parts}
    assert all(piece.end in ends and piece.start in ends | {0} for piece in seen)
    assert all(left.end >= right.start for left, right in pairwise(seen))
    if text:
        assert (seen[0].start, seen[-1].end) == (0, len(text))


def test_neighbouring_sentences_are_seen_together() -> None:
    text = "aaaa. bbbb. cccc. dddd."
    seen: list[Span] = []
    Chunks().each(text, reading(text, 12, seen))
    read = [text[piece.start : piece.end] for piece in seen]
    for pair in ("aaaa. bbbb.", "bbbb. cccc.", "cccc. dddd."):
        assert any(pair in piece for piece in read)


def test_a_sentence_too_long_alone_is_refused_with_the_limit() -> None:
    text = "Short. " + "x" * 50 + ". Short."
    with pytest.raises(TooLongError, match="a context of 20"):
        Chunks().each(text, reading(text, 20))


def test_spans_that_may_not_be_cut_are_not() -> None:
    text = "aaaa. bbbb. cccc. dddd."
    seen: list[Span] = []
    Chunks().each(text, reading(text, 13, seen), whole=[Span(3, 8)], overlap=False)
    assert any(piece.start <= 3 and piece.end >= 8 for piece in seen)
    with pytest.raises(TooLongError):
        Chunks().each(text, reading(text, 11), whole=[Span(3, 8)])


def test_what_was_learned_is_not_asked_again() -> None:
    text = "aaaa. bbbb. cccc. dddd."
    chunks, refused = Chunks(), []

    def ask(piece: Span) -> None:
        if piece.end - piece.start > 12:
            refused.append(piece)
            raise TooLongError(99, 12)

    chunks.each(text, ask)
    assert refused
    refused.clear()
    chunks.each(text, ask)
    assert refused == []


def test_a_piece_that_says_too_much_comes_again_in_halves() -> None:
    text = "I am ill. I am old. I am far. I am sad. "
    asked: list[str] = []

    def ask(piece: Span) -> str:
        part = text[piece.start : piece.end]
        asked.append(part)
        if part.count("am") > 1:
            raise TooMuchError("a list that may have been cut off")
        return part

    assert Chunks().each(text, ask, overlap=False) == [
        "I am ill. ", "I am old. ", "I am far. ", "I am sad. "
    ]  # fmt: skip
    assert asked[:3] == [text, "I am ill. I am old. ", "I am ill. "]


def test_a_sentence_that_says_too_much_is_an_error() -> None:
    def ask(_: Span) -> str:
        raise TooMuchError("a list that may have been cut off")

    with pytest.raises(TooMuchError):
        Chunks().each("I am ill. I am old.", ask)
