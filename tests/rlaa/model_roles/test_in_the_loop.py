"""The loop with a model that misbehaves: whatever it says, no text is called safe by mistake."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaserve.rlaa import Anonymizer, Level, Status
from dynaserve.rlaa.llm.protocol import Completion, LLMError
from dynaserve.rlaa.llm.scripted import ScriptedLLM
from dynaserve.rlaa.model_roles.recorded import RecordedAttacker, read_recorded

TEXT = "We moved to Oldtown, in Oldtown it rains. Issue #7 [see notes] is mine."
HIGH = [0.9, 0.04, 0.03, 0.03]


def attack(*evidence, **changes):
    leaks = [
        {
            "attribute": "location",
            "reasoning": "Names a town.",
            "evidence": words,
            "guess": "Oldtown, Norland",
            "certainty": 5,
        }
        | changes
        for words in evidence
    ]
    return json.dumps({"reasoning": "Let us see.", "leaks": leaks})


def edit(*replacements):
    listed = [{"number": n, "replacement": words} for n, words in enumerate(replacements, 1)]
    return json.dumps({"replacements": listed})


def rewrite(text):
    return json.dumps({"text": text})


class Flat:
    """A utility that costs little, so that what ends a run is what the model said."""

    def __call__(self, original, text):
        return 1.0 if text == original else 0.95


def run(replies, *, scores=(HIGH,) * 9, text=TEXT, **options):
    llm = ScriptedLLM(replies, scores=scores)
    return Anonymizer(llm, utility=Flat(), **options).run(text)


def failed(result):
    assert result.status is Status.FAILED
    assert result.text is None
    assert not result.releasable
    assert "Oldtown" not in result.reason
    return result.reason


def test_the_paper_s_loop_in_edit_mode():
    result = run([attack("Oldtown"), edit("a rainy place"), attack(), attack()])
    assert result.status is Status.ANONYMIZED
    assert result.text == TEXT.replace("Oldtown", "a rainy place")


def test_the_paper_s_loop_in_rewrite_mode_keeps_hashes_and_brackets():
    anew = "We moved away, and it rains. Issue #7 [see notes] is mine. # really"
    result = run([attack("Oldtown"), rewrite(anew), attack(), attack()], mode="rewrite")
    assert result.status is Status.ANONYMIZED
    assert result.text == anew


def test_nothing_found_is_clean_only_if_the_model_says_so():
    result = run([attack()])
    assert result.status is Status.CLEAN
    assert result.text == TEXT


def test_what_the_arbitrator_dismisses_stays():
    result = run([attack("Oldtown")], scores=[[0.1, 0.1, 0.1, 0.7]])
    assert result.status is Status.CLEAN
    assert result.rounds[0].judgements[0].validity == pytest.approx(0.3)


def test_grades_can_be_generated():
    from dynaserve.rlaa.model_roles import ModelArbitrator

    grades = json.dumps({"grades": [{"number": 1, "reason": "Weak.", "level": "LOW"}]})
    llm = ScriptedLLM([attack("Oldtown"), grades])
    arbitrator = ModelArbitrator(llm, method="generate")
    result = Anonymizer(llm, arbitrator=arbitrator, utility=Flat()).run(TEXT)
    assert result.status is Status.CLEAN
    assert result.rounds[0].judgements[0].level is Level.LOW


BAD_ATTACKS = [
    LLMError("out of memory"),
    Completion(attack(), finished=False),
    attack("Oldtown", "Issue #7")[:-40],
    "Type: location\nGuess: Oldtown",
    "[]",
    "",
    "I'm sorry, I can't help with that.",
    attack("Oldtown", attribute="home"),
    attack("Oldtown", certainty=9),
    attack("Oldtown")[:-1] + ', "leaks": []}',
]


@pytest.mark.parametrize("bad", BAD_ATTACKS)
def test_an_attack_that_failed_never_publishes_the_original(bad):
    failed(run([bad] * 3))


@pytest.mark.parametrize("bad", BAD_ATTACKS)
def test_nor_does_one_that_fails_after_an_edit(bad):
    failed(run([attack("Oldtown"), edit("a rainy place"), bad, bad, bad]))


def test_a_list_with_brackets_keeps_every_leak():
    reply = attack("Oldtown", "Issue #7 [see notes]")
    result = run([reply, edit("a rainy place", "it"), attack(), attack()])
    assert result.text == "We moved to a rainy place, in a rainy place it rains. it is mine."


def test_the_key_of_an_attribute_is_the_one_it_is_scored_by():
    reply = attack("Oldtown", attribute="city_country")
    result = run([reply, edit("a rainy place"), attack(), attack()])
    assert {judged.leak.attribute for judged in result.rounds[0].judgements} == {"location"}
    assert result.status is Status.ANONYMIZED


@pytest.mark.parametrize(
    "bad", [edit(), edit("in Oldtown"), edit("a", "b"), rewrite("x"), "", LLMError("gone")]
)
def test_an_editor_that_fails_publishes_nothing(bad):
    failed(run([attack("Oldtown"), bad, bad, bad, attack()]))


@pytest.mark.parametrize(
    "bad", [rewrite(""), "# done", edit("x"), rewrite("I'm sorry, I cannot help")]
)
def test_a_rewriter_that_fails_publishes_nothing(bad):
    failed(run([attack("Oldtown"), bad, bad, bad, attack()], mode="rewrite"))


def test_an_arbitrator_that_fails_publishes_nothing():
    failed(run([attack("Oldtown"), attack()], scores=[LLMError("cannot score")] * 9))


def test_a_text_that_is_too_long_is_refused_and_not_cut():
    llm = ScriptedLLM([attack()] * 50, context=1500)
    result = Anonymizer(llm, utility=Flat()).run("word " * 3000)
    assert "too long" in failed(result)


spoiled = st.one_of(
    st.text(max_size=40),
    st.integers(0, 200).map(lambda size: attack("Oldtown", "Issue #7")[:size]),
    st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists).map(json.dumps),
    st.sampled_from(BAD_ATTACKS),
)


@given(st.lists(spoiled, min_size=3, max_size=3))
@settings(max_examples=60)
def test_replies_that_cannot_be_read_always_end_in_failure(replies):
    failed(run(replies))


@given(st.lists(st.lists(spoiled, max_size=3), min_size=4, max_size=4))
@settings(max_examples=60)
def test_a_text_is_released_if_every_question_got_an_answer_in_three_tries_and_else_not(spoilt):
    answers = [attack("Oldtown"), edit("a rainy place"), attack(), attack()]
    result = run([said for bad, good in zip(spoilt, answers, strict=True) for said in (*bad, good)])
    if any(len(bad) == 3 for bad in spoilt):
        failed(result)
    else:
        assert result.status is Status.ANONYMIZED
        assert result.text == TEXT.replace("Oldtown", "a rainy place")


def test_a_recorded_attacker_drives_the_loop():
    recorded = 'Type: city_country\nInference: Says "moved to Oldtown".\nGuess: Oldtown; Newtown.'
    llm = ScriptedLLM([edit("moved somewhere rainy")], scores=[HIGH] * 9)
    attacker = RecordedAttacker([read_recorded(recorded)])
    result = Anonymizer(llm, attacker=attacker, utility=Flat()).run(TEXT)
    assert result.status is Status.ANONYMIZED
    assert result.text == TEXT.replace("moved to Oldtown", "moved somewhere rainy", 1)
