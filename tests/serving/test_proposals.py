from __future__ import annotations

import re
import string
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.rlaa.records import Edit, Judgement, Leak, Level, Result, Round, Span, Status
from dynaserve.rlaa.spans import apply, find_mentions
from dynaserve.serving.proposals import Origins, marks, proposals

TEXT = "I'm 31, a nurse in Porto. Porto is fine."


def judged(
    text: str, evidence: str, level: Level = Level.HIGH, attribute: str = "location"
) -> Judgement:
    leak = Leak(attribute, f"guess of {evidence}", evidence, 4)
    return Judgement(leak, level, "why", 0.75, find_mentions(text, evidence))


def edits_of(text: str, before: str, after: str, attribute: str = "location") -> tuple[Edit, ...]:
    return tuple(Edit(span, before, after, attribute) for span in find_mentions(text, before))


def seen(text: str, result: Result) -> list[tuple[str, str | None, str, bool]]:
    return [
        (text[m.span.start : m.span.end], m.edit and m.edit.after, m.level.value, m.open)
        for m in marks(text, result)
    ]


def test_every_mention_of_an_edited_leak_and_every_leak_that_was_left_is_a_place() -> None:
    edits = edits_of(TEXT, "Porto", "a city")
    after = apply(TEXT, edits)
    left = judged(after, "a nurse", Level.LOW, "occupation")
    rounds = (
        Round(
            (judged(TEXT, "Porto"), judged(TEXT, "a nurse", Level.LOW, "occupation")), edits, after
        ),
        Round((left,), text=after),
    )
    result = Result(Status.ANONYMIZED, after, rounds, edits=edits)
    assert seen(TEXT, result) == [
        ("a nurse", None, "LOW", False),
        ("Porto", "a city", "HIGH", False),
        ("Porto", "a city", "HIGH", False),
    ]
    assert len(marks(TEXT, result)[0].leaks) == 1  # rounds repeat it


def test_edits_of_several_rounds_are_one_proposal() -> None:
    first = edits_of(TEXT, "Porto", "northern Portugal")
    middle = apply(TEXT, first)
    second = edits_of(middle, "northern Portugal", "Europe")
    after = apply(middle, second)
    rounds = (
        Round((judged(TEXT, "Porto"),), first, middle),
        Round((judged(middle, "Portugal"),), second, after),
        Round((), text=after),
    )
    result = Result(Status.ANONYMIZED, after, rounds)
    found = marks(TEXT, result)
    assert [(mark.edit.before, mark.edit.after) for mark in found if mark.edit] == [
        ("Porto", "Europe"), ("Porto", "Europe"),
    ]  # fmt: skip
    assert [leak.leak.evidence for leak in found[0].leaks] == ["Porto"]


def test_what_is_found_after_an_edit_stands_where_it_stood_before() -> None:
    first = edits_of(TEXT, "I'm 31", "I am in my thirties", "age")
    after = apply(TEXT, first)
    late = judged(after, "a nurse", Level.HIGH, "occupation")
    rounds = (Round((), first, after), Round((late,), text=after))
    result = Result(Status.BUDGET_EXHAUSTED, None, rounds, (late,), "left open")
    assert seen(TEXT, result) == [
        ("I'm 31", "I am in my thirties", "HIGH", False),
        ("a nurse", None, "HIGH", False),
    ]


def test_a_replacement_that_still_gives_it_away_is_open() -> None:
    first = edits_of(TEXT, "Porto", "Vila Nova")
    after = apply(TEXT, first)
    still = judged(after, "Vila Nova", Level.MED)
    rounds = (Round((judged(TEXT, "Porto"),), first, after), Round((still,), text=after))
    result = Result(Status.BUDGET_EXHAUSTED, None, rounds, (still,), "left open")
    assert [(mark.open, mark.level) for mark in marks(TEXT, result)] == [(True, Level.HIGH)] * 2


def test_edits_that_cost_too_much_are_proposed_to_a_person() -> None:
    open_leak = judged(TEXT, "Porto")
    edits = edits_of(TEXT, "Porto", "somewhere")
    rounds = (Round((open_leak,), edits, TEXT, mpg=0.1, muc=0.5, mrs=5.0, kept=False),)
    result = Result(Status.STOPPED_RATIONAL, None, rounds, (open_leak,), "too costly")
    assert seen(TEXT, result) == [("Porto", "somewhere", "HIGH", False)] * 2
    said = proposals(TEXT, result)
    assert (said["status"], said["reason"]) == ("stopped_rational", "too costly")


def test_only_edits_that_the_loop_made_are_called_kept() -> None:
    first = edits_of(TEXT, "I'm 31", "I am in my thirties", "age")
    middle = apply(TEXT, first)
    second = edits_of(middle, "a nurse", "a worker", "occupation")
    rounds = (
        Round((judged(TEXT, "I'm 31"),), first, middle),
        Round((), second, middle, mpg=0.1, muc=0.5, mrs=5.0, kept=False),
    )
    result = Result(Status.STOPPED_RATIONAL, middle, rounds, edits=first)
    assert [mark["kept"] for mark in proposals(TEXT, result)["marks"]] == [True, False]


def test_what_a_rewrite_changed_in_passing_is_no_leak() -> None:
    edits = (
        *edits_of(TEXT, "fine", "nice", ""),
        *edits_of(TEXT, "a nurse", "at work", "occupation"),
    )
    after = apply(TEXT, edits)
    result = Result(Status.ANONYMIZED, after, (Round((), edits, after), Round((), text=after)))
    assert seen(TEXT, result) == [
        ("a nurse", "at work", "HIGH", False),  # for an attribute: it was taken to be grave
        ("fine", "nice", "LOW", False),
    ]


def test_an_insertion_between_two_leaks_leaves_them_apart() -> None:
    left = judged("abcd", "abcd", Level.LOW)
    halves = [replace(left, spans=(Span(0, 2),)), replace(left, spans=(Span(2, 4),))]
    insertion = (Edit(Span(2, 2), "", "X", ""),)
    result = Result(Status.CLEAN, "abXcd", (Round(tuple(halves), insertion, "abXcd"),))
    assert [mark.span for mark in marks("abcd", result)] == [Span(0, 2), Span(2, 2), Span(2, 4)]


def test_the_work_grows_with_the_places_and_not_with_their_square() -> None:
    """Counted in calls of functions, as time would depend on the machine."""

    def calls(count: int) -> int:
        text = " ".join(f"u{n}@cd.co" for n in range(count))
        spans = [Span(m.start(), m.end()) for m in re.finditer(r"\S+", text)]
        found = tuple(
            Judgement(Leak("identifier", "", text[s.start : s.end], 5), Level.HIGH, spans=(s,))
            for s in spans
        )
        edits = tuple(Edit(s, text[s.start : s.end], "[EMAIL]", "identifier") for s in spans)
        after = apply(text, edits)
        again = Judgement(found[0].leak, Level.LOW, spans=(*find_mentions(after, "EMAIL"),))
        result = Result(
            Status.ANONYMIZED, after, (Round(found, edits, after), Round((again,), text=after))
        )
        counted = 0

        def count_call(_: Any, event: str, __: Any) -> None:
            nonlocal counted
            counted += event in {"call", "c_call"}

        sys.setprofile(count_call)
        try:
            places = marks(text, result)
        finally:
            sys.setprofile(None)
        assert len(places) == count
        return counted

    assert calls(400) < 6 * calls(100)


def test_leaks_that_share_words_are_one_place_with_the_gravest_first() -> None:
    one = judged(TEXT, "a nurse", Level.LOW, "occupation")
    other = judged(TEXT, "nurse in Porto", Level.MED)
    result = Result(Status.CLEAN, TEXT, (Round((one, other), text=TEXT),))
    (mark,) = marks(TEXT, result)
    assert TEXT[mark.span.start : mark.span.end] == "a nurse in Porto"
    assert [leak.level for leak in mark.leaks] == [Level.MED, Level.LOW]


def test_a_conclusion_that_rounds_grade_differently_counts_as_the_gravest() -> None:
    rounds = tuple(
        Round((judged(TEXT, "Porto", level),), text=TEXT)
        for level in (Level.LOW, Level.HIGH, Level.MED)
    )
    (mark, _) = marks(TEXT, Result(Status.CLEAN, TEXT, rounds))
    assert [leak.level for leak in mark.leaks] == [Level.HIGH]


def test_a_failed_run_shows_what_it_found_and_why_it_ended() -> None:
    result = Result(Status.FAILED, None, (), reason="attacker: no answer")
    assert proposals(TEXT, result) == {
        "status": "failed", "reason": "attacker: no answer", "marks": [],
    }  # fmt: skip


def test_described_places_are_in_both_units() -> None:
    text = f"🙂🙂 {TEXT}"
    result = Result(
        Status.CLEAN, text, (Round((judged(text, "31", Level.LOW, "age"),), text=text),)
    )
    (mark,) = proposals(text, result)["marks"]
    assert (mark["start"], mark["end"]) == (7, 9)
    assert (mark["utf16_start"], mark["utf16_end"]) == (9, 11)
    assert mark["after"] is None
    assert mark["leaks"] == [
        {
            "attribute": "age", "level": "LOW", "validity": 0.75,
            "guess": "guess of 31", "reason": "why",
        }
    ]  # fmt: skip


WORDS = st.lists(st.text(string.ascii_lowercase, min_size=1, max_size=4), min_size=1, max_size=8)


@given(WORDS, st.data())
def test_a_place_after_edits_comes_from_the_same_words(
    words: list[str], data: st.DataObject
) -> None:
    """Words are numbered, some replaced; each kept one maps to itself, each new one to the old."""
    text = " ".join(words)
    places, at = [], 0
    for word in words:
        places.append(Span(at, at + len(word)))
        at += len(word) + 1
    changed = data.draw(st.sets(st.integers(0, len(words) - 1)))
    new = {n: data.draw(st.text(string.ascii_uppercase, min_size=1, max_size=6)) for n in changed}
    edits = tuple(Edit(places[n], words[n], new[n], "age") for n in sorted(changed))
    assert apply(text, edits) == " ".join(new.get(n, word) for n, word in enumerate(words))
    at = 0
    for n, word in enumerate(words):
        size = len(new.get(n, word))
        assert Origins(edits)(Span(at, at + size)) == places[n]
        at += size + 1


@pytest.mark.parametrize(("start", "end"), [(1, 2), (0, 3), (2, 5)])
def test_a_part_of_a_replacement_comes_from_all_that_was_replaced(start: int, end: int) -> None:
    origin = Origins((Edit(Span(0, 2), "ab", "XYZ", "age"),))
    assert origin(Span(start, end)) == Span(0, max(2, end - 1))


def test_what_follows_a_deletion_begins_where_the_deleted_ended() -> None:
    origin = Origins((Edit(Span(2, 5), "cde", "", "age"),))  # "abcdefg" became "abfg"
    assert origin(Span(2, 4)) == Span(5, 7)
    assert origin(Span(0, 2)) == Span(0, 2)
    assert origin(Span(1, 3)) == Span(1, 6)
