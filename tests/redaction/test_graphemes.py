"""What a reader takes for one character stays one."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.redaction import graphemes, redact
from dynaserve.redaction.graphemes import joins, whole_clusters

CLUSTERS = (
    ("e\u0301", "x"),
    ("\U0001f469\u200d\u2695\ufe0f", "\U0001f44d\U0001f3fd"),
    ("\U0001f1f5\U0001f1f9", "\U0001f1f5\U0001f1f1", "\U0001f1e9"),
    ("3\ufe0f\u20e3", "4"),
    ("\U0001f3f4\U000e0067\U000e0062\U000e007f", "!"),
    ("\u1112\u1161\u11ab", "\u1100\u1173\u11af", "\uac00\u11a8"),
    ("\u0915\u094d\u0937", "\u0915"),
    ("a", "\r\n", "b", "\n", "\r", "\u200b", "c"),
)
"""Texts cut where the examples and rules of Unicode Standard Annex 29 cut them."""


@pytest.mark.parametrize("clusters", CLUSTERS)
def test_a_text_is_cut_where_the_standard_says(clusters: tuple[str, ...]) -> None:
    text = "".join(clusters)
    ends = [sum(map(len, clusters[:count])) for count in range(len(clusters))]
    assert [at for at in range(len(text)) if not joins(text, at)] == ends


@given(st.lists(st.sampled_from([c for group in CLUSTERS for c in group]), max_size=8), st.data())
def test_a_span_is_widened_to_whole_clusters(clusters: list[str], data: st.DataObject) -> None:
    text = "".join(clusters)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    first, last = whole_clusters(text, start, end)
    assert first <= start <= end <= last
    assert not joins(text, first)
    assert not joins(text, last)


def test_a_label_takes_the_marks_of_what_it_replaces() -> None:
    assert redact("call 415-555-0123\ufe0f\u20e3 now") == "call [PHONE] now"


def test_the_examples_run() -> None:
    result = doctest.testmod(graphemes)
    assert result.attempted > 0
    assert result.failed == 0
