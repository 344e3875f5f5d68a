"""The engine as a whole: what becomes of a text, and what never happens to one."""

from __future__ import annotations

import doctest
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynaserve.rlaa.embedded import EmbeddedEngine, engine
from dynaserve.rlaa.embedded.reading import read
from dynaserve.rlaa.llm.cancellation import CancelledError, cancellable
from dynaserve.rlaa.records import ATTRIBUTES, IDENTIFIER, Judgement, Leak, Level, Span
from dynaserve.rlaa.spans import apply, find_mentions

Anonymize = Callable[[str], str]
Actionable = Callable[[str], list[Judgement]]
ENGINE = EmbeddedEngine()

REPLACED = {
    "I'm 31 and my wife left early.": "I'm in my thirties and my partner left early.",
    "As a nurse I see a lot.": "As somebody who works in health care I see a lot.",
    "I live in Porto.": "I live in southern Europe.",
    "I was born in Kyoto and moved on.": "I was born in eastern Asia and moved on.",
    "Back in Porto we ate late.": "Back in southern Europe we ate late.",
    "I grew up in Ghana.": "I grew up in western Africa.",
    "I make $85,000 a year": "I make between $50k and $100k a year",
    "I did my PhD in history there": "I did my studies there",
    "My husband cooks.": "My partner cooks.",
    "my pregnancy was easy": "my health was easy",
    "I'm divorced with two dogs": "I'm an adult with two dogs",
    "I was born in 1985.": "I was born in the 1980s.",
    "Mail ada@example.com now": "Mail [EMAIL] now",
    "Dr. Ada Quill called": "Dr. [NAME] called",
    # neighbours with the same words for them are one
    "I live in Porto, Portugal.": "I live in southern Europe.",
    "I live in Porto and Lisbon.": "I live in southern Europe.",
    "My wife, my hubby, left.": "My partner, left.",
    # the namesake that the words after it name
    "I live in Paris, Texas.": "I live in North America.",
    "I live in Paris, TX.": "I live in North America.",
    "Born in Paris, France. I live in Paris, Texas.": "Born in western Europe. I live in "
    "North America.",
    "I live in Paris, Texas. I was born in Paris, France.": "I live in North America. I was born "
    "in western Europe.",
    "I'm Irish Catholic.": "I'm from northern Europe.",
    # with the day, which would make a date of birth of it
    "I turned 31 last week.": "I'm in my thirties.",
    "I'll turn 31 next month!": "I'm in my thirties!",
    "my days since turning 31 in May": "my days since being in my thirties",
    "I (25F) and my husband": "I (in my twenties) and my partner",
    "I'm 31M, bored": "I'm in my thirties, bored",
    "Hi, I'm Maria and I like tea": "Hi, I'm [NAME] and I like tea",
    "I'm Maria Gonzalez.": "I'm [NAME].",
    "My insta is ada.quill9": "My insta is [HANDLE]",
    "my postcode is sw1a 1aa": "my postcode is [ZIP]",
}


@pytest.mark.parametrize(("before", "after"), REPLACED.items())
def test_a_statement_is_generalized(before: str, after: str, anonymize: Anonymize) -> None:
    assert anonymize(before) == after


SURFACES = {
    # capitals
    "I'M 31 AND LIVE IN PORTO": "I'M IN MY THIRTIES AND LIVE IN SOUTHERN EUROPE",
    "MY WIFE IS HERE": "MY PARTNER IS HERE",
    # possessives
    "I live in Porto. Porto's bridges!": "I live in southern Europe. Southern Europe's bridges!",
    "My wife's car": "My partner's car",
    # every mention
    "I live in Porto. PORTO, yes.": "I live in southern Europe. SOUTHERN EUROPE, yes.",
    # typographic quotes and spaces
    "I\u2019m\u00a031.": "I\u2019m\u00a0in my thirties.",
    "I live in\u00a0Porto": "I live in\u00a0southern Europe",
    # other scripts, emoji, marks
    "\U0001f642 I live in Porto \U0001f1f5\U0001f1f9": "\U0001f642 I live in southern Europe "
        "\U0001f1f5\U0001f1f9",
    "born in Malmo\u0308, cafe\u0301": "born in northern Europe, cafe\u0301",
    "\u05e9\u05dc\u05d5 ada@example.com \u05ea\u05d5": "\u05e9\u05dc\u05d5 [EMAIL] \u05ea\u05d5",
    "\u200fI live in Porto\u200f": "\u200fI live in southern Europe\u200f",
    # lines
    "I live in\nPorto": "I live in\nsouthern Europe",
    "hi\r\nI'm 31\r\nbye": "hi\r\nI'm in my thirties\r\nbye",
    # glued and lined up
    "note212-555-0142": "note[PHONE]",
    "a@example.com b@example.com c@example.com": "[EMAIL] [EMAIL] [EMAIL]",
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), SURFACES.items())
def test_the_surface_of_a_text_makes_no_difference(
    before: str, after: str, anonymize: Anonymize
) -> None:
    assert anonymize(before) == after


NOTHING = (
    "Reading is nice, and May was a turkey of a month.",
    "My mobile phone is in the orange case.",
    "I am not married and I have never been a nurse.",
    "My sister is 31 and lives in Rome.",
    "He is a nurse from Porto.",
    'She said "I\'m 31" to him.',
    "A film set in Paris, with a clever plot.",
    "what is the weather in chicago",
    "book a flight from denver to boston",
    "It takes 31 minutes and costs 20 dollars.",
    "I'm 100% sure, 5 times out of 10.",
    "Chinese food is the best food.",
    "If I were a nurse I would sleep less.",
    "I'm no doctor but that looks bad.",
    "I'm not in a relationship, never been married.",
    "I'm neither a nurse nor a teacher.",
    "I was at work.It was fun, then at noon.Then we left.",
    "5. Call 12 people\n6. Buy 2 Tesla Model 3 and 1 Ford F 150",
    "The wall is there. (25m) deep it is.",
    "[2023-10-11 12:30:45] version 1.2.3.4, 10000 steps",
    "MISS YOU ALL AND THIS IS VERY BAD",
    "I'm Happy Today. I'm Star Wars fan. Hello, I'm Interested in it.",
    "",
    " \n\t ",
    "\U0001f642",
)


@pytest.mark.parametrize("text", NOTHING)
def test_what_says_nothing_of_the_writer_stays(text: str, anonymize: Anonymize) -> None:
    assert anonymize(text) == text


PIECES = st.sampled_from(
    [
        *REPLACED,
        *SURFACES,
        *NOTHING,
        *(" ", "\n", ". ", ", ", "and ", "not ", "he ", "I ", "3", "A"),
    ]
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(PIECES, max_size=6).map("".join))
def test_edits_touch_their_spans_only_and_leave_nothing_actionable(
    actionable: Actionable, text: str
) -> None:
    leaks = actionable(text)
    edits = ENGINE.edit(text, leaks)
    result = apply(text, edits)
    at = out = 0
    for edit in sorted(edits, key=lambda edit: edit.span):
        kept = text[at : edit.span.start]
        assert result[out : out + len(kept)] == kept
        at, out = edit.span.end, out + len(kept) + len(edit.after)
    assert result[out:] == text[at:]
    covered = [edit.span for edit in edits]
    for span in (span for leak in leaks for span in leak.spans):
        assert any(c.start <= span.start and span.end <= c.end for c in covered)


@pytest.mark.parametrize("text", [*REPLACED, *SURFACES])
def test_a_replacement_is_not_found_again(
    text: str, anonymize: Anonymize, actionable: Actionable
) -> None:
    assert actionable(text)
    assert actionable(anonymize(text)) == []


def test_a_part_of_what_is_one_is_replaced_where_it_stands_alone(anonymize: Anonymize) -> None:
    text = "I live in Porto, Portugal. Nothing beats Porto, or portugal."
    assert anonymize(text) == (
        "I live in southern Europe. Nothing beats southern Europe, or southern Europe."
    )


def test_a_text_is_read_once_for_all_three_roles(anonymize: Anonymize) -> None:
    before = read.cache_info()
    anonymize("I live in Porto, and nobody has read this before.")
    after = read.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 2)
    assert after.maxsize == 8


def test_threads_read_what_one_reads() -> None:
    texts = [f"I'm {years} and live in Porto." for years in range(20, 60)] * 2
    alone = [ENGINE.attack(text, ATTRIBUTES) for text in texts]
    read.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: ENGINE.attack(text, ATTRIBUTES), texts)) == alone


def test_ages_are_those_of_the_year_that_is_given() -> None:
    text = "I was born in 1991"
    guesses = {
        year: EmbeddedEngine(year=year).attack(text, ["age"])[0].guess for year in (2024, 2030)
    }
    assert guesses == {2024: "33", 2030: "39"}
    now = datetime.now(tz=timezone.utc).year
    assert ENGINE.attack(text, ["age"])[0].guess in {str(now - 1991), str(now - 1992)}


def test_leaks_of_other_attributes_are_left_alone() -> None:
    leaks = ENGINE.attack("I'm 31, my wife lives, mail ada@example.com", ["age"])
    assert {leak.attribute for leak in leaks} == {"age", IDENTIFIER}


def test_mentions_of_one_thing_are_one_leak_as_sure_as_the_surest() -> None:
    leaks = ENGINE.attack("Porto! I live in Porto.", ["location"])
    assert [(leak.evidence, leak.certainty) for leak in leaks] == [("Porto", 5)]


def test_the_same_text_gives_the_same_answer() -> None:
    text = " ".join(REPLACED)
    assert ENGINE.attack(text, ATTRIBUTES) == EmbeddedEngine().attack(text, ATTRIBUTES)


def test_a_leak_of_another_attacker_is_judged_by_its_certainty_and_edited() -> None:
    text = "We dined near the spire."
    sure, unsure = (Leak("location", "Dublin", "the spire", certainty) for certainty in (5, 2))
    levels = [judgement.level for judgement in ENGINE.judge(text, [sure, unsure])]
    assert levels == [Level.MED, Level.LOW]
    judgement = Judgement(sure, Level.MED, spans=find_mentions(text, "the spire"))
    assert apply(text, ENGINE.edit(text, [judgement])) == "We dined near some place."


def test_spans_that_overlap_become_one_edit_named_by_the_identifier() -> None:
    text = "Write to Porto@example.com"
    leaks = (
        Leak("location", "Porto", "Porto", 5),
        Leak(IDENTIFIER, "email", "Porto@example.com", 5),
    )
    judgements = [Judgement(k, Level.HIGH, spans=find_mentions(text, k.evidence)) for k in leaks]
    (edit,) = ENGINE.edit(text, judgements)
    assert (edit.span, edit.attribute) == (Span(9, 26), IDENTIFIER)
    assert apply(text, [edit]) == "Write to [EMAIL]"


def test_judgements_keep_the_order_of_the_leaks() -> None:
    text = "I'm 31 and live in Porto."
    leaks = ENGINE.attack(text, ATTRIBUTES)[::-1]
    assert [judgement.leak for judgement in ENGINE.judge(text, leaks)] == list(leaks)


def test_nothing_prints_words_of_the_text() -> None:
    text = "I live in Porto."
    (judgement,) = ENGINE.judge(text, ENGINE.attack(text, ["location"]))
    located = replace(judgement, spans=find_mentions(text, "Porto"))
    shown = repr((located, ENGINE.edit(text, [located])))
    assert "Porto" not in shown


def test_the_examples_run() -> None:
    result = doctest.testmod(engine)
    assert result.attempted > 0
    assert result.failed == 0


def test_a_cancelled_run_stops_the_reading() -> None:
    event = threading.Event()
    event.set()
    with cancellable(event), pytest.raises(CancelledError):
        EmbeddedEngine().attack("My wife and I live in Porto, unread so far.", ["location"])
