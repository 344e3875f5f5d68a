"""The union of finds."""

from __future__ import annotations

from dynaserve.redaction.span import Span, merged


def test_spans_that_touch_stay_apart_and_come_sorted() -> None:
    assert merged([Span(4, 6, "B"), Span(0, 4, "A")]) == [Span(0, 4, "A"), Span(4, 6, "B")]


def test_a_chain_of_overlaps_becomes_one_span_named_by_the_earliest_given() -> None:
    spans = [Span(5, 9, "FIRST"), Span(0, 3, "SECOND"), Span(2, 6, "THIRD")]
    assert merged(spans) == [Span(0, 9, "FIRST")]


def test_a_span_inside_another_one_does_not_shorten_it() -> None:
    assert merged([Span(0, 9, "OUT"), Span(2, 3, "IN"), Span(8, 10, "END")]) == [Span(0, 10, "OUT")]


def test_of_nothing_comes_nothing() -> None:
    assert merged([]) == []
