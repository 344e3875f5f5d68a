"""What a round gains and costs, against numbers worked out by hand."""

from __future__ import annotations

import math
import threading

import pytest

from dynaserve.rlaa import Edit, Judgement, Leak, Level, Span
from dynaserve.rlaa.economics import Guesses, attributes_of, expected_success, ledger, rate, success
from dynaserve.rlaa.llm import CancelledError, cancellable


def judged(
    attribute: str = "age",
    certainty: int = 5,
    level: Level = Level.HIGH,
    validity: float = 1.0,
    guess: str = "31",
    spans: tuple[Span, ...] = (Span(0, 2),),
) -> Judgement:
    return Judgement(Leak(attribute, guess, "31", certainty), level, "", validity, spans)


def test_success_grows_with_certainty_and_validity() -> None:
    assert [success(judged(certainty=c)) for c in range(1, 6)] == pytest.approx(
        [0.1, 0.3, 0.5, 0.7, 0.9]
    )
    assert success(judged(certainty=4, validity=0.5)) == pytest.approx(0.35)
    assert success(judged(level=Level.INVALID)) == 0


def test_leaks_of_one_attribute_combine_and_attributes_add_up() -> None:
    chances = expected_success([judged(certainty=5), judged(certainty=3), judged("sex", 1)])
    assert chances == pytest.approx({"age": 1 - 0.1 * 0.5, "sex": 0.1})
    assert expected_success([]) == {}


def test_taking_any_leak_away_is_a_gain() -> None:
    gained = Guesses().gains([judged(certainty=5), judged(certainty=5)], [judged(certainty=5)])
    assert gained == pytest.approx({"age": 0.99 - 0.9})


def test_a_new_leak_is_a_loss() -> None:
    assert Guesses().gains([], [judged("sex", 3)]) == pytest.approx({"sex": -0.5})


def test_coarser_guesses_count_half_and_paraphrases_whole() -> None:
    guesses = Guesses()
    first = judged("location", guess="Porto")
    country = judged("location", guess="Portugal")
    region = judged("location", guess="southern Europe")
    guesses.learn([first])
    for coarser in (country, region):
        guesses.learn_coarser([coarser])
    assert guesses.success(first) == pytest.approx(0.9)
    assert guesses.success(country) == pytest.approx(0.45)
    assert guesses.success(region) == pytest.approx(0.225)
    assert guesses.success(judged("location", guess="PORTO")) == pytest.approx(0.9)
    guesses.learn_coarser([judged("sex", guess="male")])
    assert guesses.success(judged("sex", guess="male")) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("muc", "mpg", "expected"),
    [
        (0.1, 0.5, 0.2),
        (-0.1, 0.5, -0.2),
        (0.1, 0.0, math.inf),
        (0.1, -0.5, math.inf),
        (0.0, -0.5, math.inf),
        (-0.1, -0.5, math.inf),
        (0.0, 0.0, 0.0),
        (-0.1, 0.0, 0.0),
        (1e-17, -1e-17, 0.0),
    ],
)
def test_the_rate_is_honest_where_nothing_is_gained(
    muc: float, mpg: float, expected: float
) -> None:
    assert rate(muc, mpg) == expected


TEXT = "I am 31. I live in Porto, a town in Portugal."
EDITS = [
    Edit(Span(5, 7), "31", "old", "age"),
    Edit(Span(19, 24), "Porto", "x", "location"),
    Edit(Span(36, 44), "Portugal", "y", "location"),
]


def lost(before: str, after: str) -> float:
    """1 minus the share of words that an edit changed."""
    words, others = before.split(), after.split()
    return sum(a == b for a, b in zip(words, others, strict=True)) / len(words)


def test_each_edit_has_its_share() -> None:
    judgements = [
        judged("age", spans=(Span(5, 7),)),
        judged("location", spans=(Span(19, 24), Span(36, 44))),
        judged("birth_place", spans=(Span(36, 44),)),
    ]
    gained = {"age": 0.9, "location": 0.8, "birth_place": 0.2, "sex": -0.1}
    entries = ledger(TEXT, EDITS, judgements, gained=gained, muc=0.3, utility=lost)
    assert [entry.mpg for entry in entries] == pytest.approx([0.9, 0.4, 0.6])
    # One word of three, of 9 characters; one of eight, of 36, twice.
    costs = [9 / 3, 36 / 8, 36 / 8]
    assert [entry.muc for entry in entries] == pytest.approx([0.3 * c / sum(costs) for c in costs])
    assert entries[0].mrs == pytest.approx(entries[0].muc / 0.9)


def test_an_edit_is_weighed_with_what_is_near() -> None:
    text = "ab@cd.co " * 400
    edits = [Edit(Span(at, at + 8), "ab@cd.co", "[X]", "identifier") for at in range(0, 3600, 9)]
    seen: list[int] = []

    def note(before: str, after: str) -> float:
        seen.append(len(before))
        assert len(after) == len(before) - 5
        return 0.5

    entries = ledger(text, edits, [], gained={}, muc=0.3, utility=note)
    assert (len(seen), max(seen)) == (400, 208)
    assert sum(entry.muc for entry in entries) == pytest.approx(0.3)


def test_weighing_stops_with_the_run() -> None:
    event, seen = threading.Event(), list[str]()

    def cancel(before: str, _: str) -> float:
        seen.append(before)
        event.set()
        return 1.0

    with cancellable(event), pytest.raises(CancelledError):
        ledger(TEXT, EDITS, [], gained={}, muc=0.3, utility=cancel)
    assert len(seen) == 1


def test_edits_that_cost_nothing_alone_share_equally() -> None:
    entries = ledger(TEXT, EDITS, [], gained={}, muc=0.3, utility=lambda *_: 1.0)
    assert [entry.muc for entry in entries] == pytest.approx([0.1] * 3)
    assert all(entry.mrs == math.inf for entry in entries)


def test_edits_answer_every_attribute_they_touch() -> None:
    touching = judged("income", spans=(Span(6, 20),))
    assert attributes_of(EDITS, [touching]) == [
        {"age", "income"},
        {"location", "income"},
        {"location"},
    ]
