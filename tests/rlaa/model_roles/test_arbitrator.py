"""Grades: one for each leak, without a look at the guess, and by no other way than was chosen."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.rlaa.llm.protocol import Completion, LLMError, TooLongError
from dynaserve.rlaa.llm.scripted import ScriptedLLM
from dynaserve.rlaa.model_roles import ModelArbitrator
from dynaserve.rlaa.records import Judgement, Leak, Level
from dynaserve.rlaa.roles import RoleError

TEXT = "I'm 31 and live in Porto."
AGE = Leak("age", "guess-of-age", "I'm 31", 5, "States it.")
PLACE = Leak("location", "guess-of-place", "live in Porto", 5, "Names a city.")
LABELS = ("HIGH", "MED", "LOW", "INVALID")


def by_scores(*scores):
    llm = ScriptedLLM(scores=scores)
    leaks = [AGE, PLACE][: len(scores)]
    return ModelArbitrator(llm).judge(TEXT, leaks), llm


def test_each_leak_is_scored_by_itself_in_order():
    judgements, llm = by_scores([0.7, 0.1, 0.1, 0.1], [0.1, 0.2, 0.6, 0.1])
    assert [(judged.leak, judged.level) for judged in judgements] == [
        (AGE, Level.HIGH),
        (PLACE, Level.LOW),
    ]
    assert [judged.validity for judged in judgements] == pytest.approx([0.9, 0.9])
    assert judgements[0].reason == "HIGH 0.70, MED 0.10, LOW 0.10, INVALID 0.10"
    assert [request.options for request in llm.requests] == [LABELS, LABELS]
    assert "States it." in llm.requests[0].messages[1].content
    assert "Names a city." not in llm.requests[0].messages[1].content


@pytest.mark.parametrize("method", ["score", "generate"])
def test_the_guess_is_never_shown(method):
    llm = ScriptedLLM([grades(("HIGH", "x"))], scores=[[1, 0, 0, 0]])
    ModelArbitrator(llm, method=method).judge(TEXT, [AGE])
    shown = "".join(message.content for message in llm.requests[0].messages)
    assert "guess-of-age" not in shown
    assert "I'm 31" in shown.partition("Conclusion")[2]


@pytest.mark.parametrize(
    ("scores", "level"),
    [
        ([0.3, 0.1, 0.1, 0.5], Level.HIGH),  # as likely real as not: not dismissed
        ([0.2, 0.15, 0.25, 0.4], Level.LOW),  # the likeliest single grade, but the others add up
        ([0.2, 0.2, 0.09, 0.51], Level.INVALID),
        ([0.25, 0.25, 0.25, 0.25], Level.HIGH),  # in doubt the graver
        ([0, 0, 0, 1], Level.INVALID),
    ],
)
def test_a_leak_is_dismissed_only_if_that_beats_all_other_grades_together(scores, level):
    (judged,), _ = by_scores(scores)
    assert judged.level is level
    assert judged.validity == pytest.approx(1 - scores[3])


@given(st.lists(st.floats(0.001, 1), min_size=4, max_size=4))
def test_validity_is_a_probability(weights):
    total = math.fsum(weights)
    (judged,), _ = by_scores([weight / total for weight in weights])
    assert 0 <= judged.validity <= 1
    assert (judged.level is Level.INVALID) == (judged.validity < 0.5)


@pytest.mark.parametrize(
    "scores",
    [
        [0.5, 0.5], [], [0.2] * 5, [0.9, 0.9, 0.9, 0.9], [0, 0, 0, 0], [-0.5, 0.5, 0.5, 0.5],
        [math.nan, 0.3, 0.3, 0.4], [math.inf, 0, 0, 0], LLMError("cannot score"),
    ],
)  # fmt: skip
def test_what_is_no_probability_is_no_grade_and_is_not_generated_instead(scores):
    llm = ScriptedLLM([grades(("LOW", "x"))] * 9, scores=[scores] * 9)
    with pytest.raises(RoleError):
        ModelArbitrator(llm).judge(TEXT, [AGE])
    assert all(request.options for request in llm.requests)


def test_where_two_words_begin_alike_letters_stand_for_them():
    llm = ScriptedLLM(scores=[ValueError("same token"), [0.1, 0.7, 0.1, 0.1]])
    (judged,) = ModelArbitrator(llm).judge(TEXT, [AGE])
    assert judged.level is Level.MED
    assert llm.requests[1].options == ("A", "B", "C", "D")
    assert "- B: makes it likely" in llm.requests[1].messages[1].content
    assert "one word: A, B, C, D" in llm.requests[1].messages[1].content


def test_a_model_that_tells_nothing_apart_is_an_error():
    llm = ScriptedLLM(scores=[ValueError("same token")] * 2)
    with pytest.raises(RoleError, match="generate"):
        ModelArbitrator(llm).judge(TEXT, [AGE])


def test_a_text_that_is_too_long_reaches_whoever_can_split_it():
    for method in ("score", "generate"):
        with pytest.raises(TooLongError):
            ModelArbitrator(
                ScriptedLLM(["x"], scores=[[1, 0, 0, 0]], context=50), method=method
            ).judge(TEXT, [AGE])


def grades(*levels_and_reasons):
    listed = [
        {"number": number, "reason": reason, "level": level}
        for number, (level, reason) in enumerate(levels_and_reasons, 1)
    ]
    return json.dumps({"grades": listed})


def test_generated_grades_come_in_one_reply():
    llm = ScriptedLLM([grades(("INVALID", "Not about them."), ("MED", "A hint."))])
    assert ModelArbitrator(llm, method="generate").judge(TEXT, [AGE, PLACE]) == [
        Judgement(AGE, Level.INVALID, "Not about them.", 0.0),
        Judgement(PLACE, Level.MED, "A hint.", 1.0),
    ]
    (request,) = llm.requests
    assert request.temperature == 0
    assert '1. {"about": "age"' in request.messages[1].content
    assert '2. {"about": "location"' in request.messages[1].content
    assert request.schema["properties"]["grades"]["minItems"] == 2


@pytest.mark.parametrize(
    "bad",
    [
        grades(("HIGH", "x")),
        grades(("HIGH", "x"), ("HIGH", "x"), ("HIGH", "x")),
        grades(("HIGH", "x"), ("NONE", "x")),
        grades(("HIGH", "x"), ("MED", "x"))[:-5],
        Completion(grades(("LOW", "x"), ("LOW", "x")), finished=False),
        "INVALID",
        LLMError("gone"),
    ],
)
def test_a_leak_without_a_grade_is_asked_about_again_and_then_fails(bad):
    good = grades(("HIGH", "x"), ("MED", "x"))
    judged = ModelArbitrator(ScriptedLLM([bad, good]), method="generate").judge(TEXT, [AGE, PLACE])
    assert [one.level for one in judged] == [Level.HIGH, Level.MED]
    with pytest.raises(RoleError, match="in 3 tries"):
        ModelArbitrator(ScriptedLLM([bad] * 3), method="generate").judge(TEXT, [AGE, PLACE])


@pytest.mark.parametrize("method", ["score", "generate"])
def test_no_leaks_need_no_model(method):
    assert ModelArbitrator(ScriptedLLM(), method=method).judge(TEXT, []) == []


def test_another_method_is_refused():
    with pytest.raises(ValueError, match="score or generate"):
        ModelArbitrator(ScriptedLLM(), method="vote")
