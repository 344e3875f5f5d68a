"""A rewrite keeps the sentences of a text, and adds none about itself."""

from __future__ import annotations

import pytest

from dynaserve.rlaa.model_roles.completeness import require_no_remark, require_whole
from dynaserve.rlaa.records import Span
from dynaserve.rlaa.roles import RoleError


def test_at_least_half_of_the_characters_beside_the_evidence_are_left():
    text = "abcdefgh" + " abcdefgh" * 9
    require_whole(f"a b {'x' * 38}", text, [])
    with pytest.raises(RoleError, match="leaves out much"):
        require_whole(f"a b {'x' * 37}", text, [])
    # Two words of evidence: 64 characters beside them, however often they are named.
    require_whole(f"a b {'x' * 30}", text, [Span(0, 17), Span(9, 17)])
    with pytest.raises(RoleError, match="leaves out much"):
        require_whole(f"a b {'x' * 29}", text, [Span(0, 17), Span(9, 17)])


def test_of_three_sentences_two_are_left():
    text = "I am here now. You are there too. We are both fine."
    require_whole("I am here now and you are there too. We are both fine.", text, [])
    with pytest.raises(RoleError, match="leaves out much"):
        require_whole("I am here now and you are there too, both of us fine.", text, [])


def test_what_only_looks_like_a_sentence_need_not_stay():
    require_whole("A doctor and somebody met here.", "Hi! Dr. No and Mr. Smith met here.", [])


def test_sentences_without_blanks_count_too():
    text = "私は東京に住む。天気がとても良い。妻は看護師です。"
    with pytest.raises(RoleError, match="leaves out much"):
        require_whole("私はとても大きな都会に住んでいるのです。", text, [])


@pytest.mark.parametrize(
    ("rewritten", "text"),
    [
        ("Note: the office is closed.", "Note: the office in Porto is closed."),
        ("Please note that I live in a city.", "Please note that I live in Porto."),
        ("I took a note of it: a city.", "I took a note of it: Porto."),
        ("Here is a text: enjoy.", "Here is the text: enjoy."),
        ("I edit texts and explain changes.", "I edit texts and explain changes in Porto."),
        ("It was rewritten in the north.", "It was rewritten in Porto."),
    ],
)
def test_what_the_author_says_of_texts_is_no_remark(rewritten, text):
    require_no_remark(rewritten, text)
