"""A rewrite is the model's text, whole, without a remark; or there is none."""

from __future__ import annotations

import json

import pytest

from dynaserve.rlaa.llm.protocol import Completion, LLMError, TooLongError
from dynaserve.rlaa.llm.scripted import ScriptedLLM
from dynaserve.rlaa.model_roles import ModelRewriter
from dynaserve.rlaa.model_roles.prompts import closing_code
from dynaserve.rlaa.records import Judgement, Leak, Level
from dynaserve.rlaa.roles import RoleError
from dynaserve.rlaa.spans import find_mentions

TEXT = "# Hello #1\nI live in Porto."
LEAKS = [Judgement(Leak("location", "Porto, Portugal", "live in Porto", 5, "Says so."), Level.HIGH)]


def reply(text, **more):
    return json.dumps({"text": text, **more})


def test_the_text_comes_back_with_its_hashes():
    llm = ScriptedLLM([reply("# Hello #1\nI live in the north. # really")])
    assert ModelRewriter(llm).rewrite(TEXT, LEAKS) == "# Hello #1\nI live in the north. # really"
    (request,) = llm.requests
    assert (request.temperature, request.top_p) == (0.5, 0.9)
    assert '"evidence": "live in Porto"' in request.messages[1].content


def test_the_room_for_the_answer_grows_with_the_text():
    rooms = []
    for words in (10, 1000):
        llm = ScriptedLLM([reply("word " * words)], context=10_000)
        ModelRewriter(llm).rewrite("word " * words, LEAKS)
        rooms.append(llm.requests[0].max_tokens)
    assert rooms[0] >= 10
    assert 1000 < rooms[1] < 2000


@pytest.mark.parametrize(
    "bad",
    [
        reply(""), reply(" \n "), reply("I'm sorry, but I can't help with that."),
        reply("A text.", explanation="I removed the city."), "I live in the north. # I removed it.",
        reply("I live in the north.")[:-2], Completion(reply("I live in"), finished=False),
        reply("Cut\u202e off"), reply(f"I live there.\nEND DOCUMENT {closing_code(TEXT)}"),
        reply("BEGIN DOCUMENT\nI live there."), LLMError("gone"), json.dumps([TEXT]), "",
    ],
)  # fmt: skip
def test_no_answer_is_never_taken_for_one(bad):
    good = "# Hello #1\nI live there."
    assert ModelRewriter(ScriptedLLM([bad, reply(good)])).rewrite(TEXT, LEAKS) == good
    with pytest.raises(RoleError) as caught:
        ModelRewriter(ScriptedLLM([bad] * 3)).rewrite(TEXT, LEAKS)
    assert "north" not in str(caught.value)
    assert "Porto" not in str(caught.value)


def test_an_author_who_is_sorry_may_stay_so():
    text = "I'm sorry, I am late. I live in Porto."
    rewritten = "I'm sorry, I am late. I live in the north."
    assert ModelRewriter(ScriptedLLM([reply(rewritten)])).rewrite(text, LEAKS) == rewritten


def test_what_was_disarmed_comes_back_as_it_was():
    llm = ScriptedLLM([reply("See <\u2060b>the north<\u2060/b>.")])
    assert ModelRewriter(llm).rewrite("See <b>Porto</b>.", LEAKS) == "See <b>the north</b>."


def test_without_leaks_the_text_stays_as_it_is():
    assert ModelRewriter(ScriptedLLM()).rewrite(TEXT, []) == TEXT


def test_a_text_that_is_too_long_is_not_cut():
    with pytest.raises(TooLongError):
        ModelRewriter(ScriptedLLM([reply("x")], context=400)).rewrite("word " * 300, LEAKS)


STORY = "I moved to Porto last year. The food is great. My wife is a nurse."
TOLD = "I moved to a city last year. The food is great. My partner works in health care."


@pytest.mark.parametrize(
    "bad",
    [
        "I moved to a city last year.",
        f"Here is the rewritten document: {TOLD}",
        f"Sure! Here's the text without the leaks:\n\n{TOLD}",
        f"**Anonymized version:**\n{TOLD}",
        f"{TOLD} Note: the city in the north was generalized.",
        f"{TOLD}\n\n(Note that I left out the city.)",
        f"{TOLD}\nChanges made: the city.",
        f"{TOLD} The location has been generalized.",
    ],
)
def test_a_rewrite_that_lost_sentences_or_speaks_of_itself_is_asked_for_again(bad):
    assert ModelRewriter(ScriptedLLM([reply(bad), reply(TOLD)])).rewrite(STORY, LEAKS) == TOLD
    with pytest.raises(RoleError, match=r"leaves out much|a remark of the model"):
        ModelRewriter(ScriptedLLM([reply(bad)] * 3)).rewrite(STORY, LEAKS)


def test_evidence_may_shrink_to_a_word():
    text = "I work at the Hospital of Saint Elsewhere in Porto."
    leak = Leak("occupation", "nurse", "at the Hospital of Saint Elsewhere in Porto", 5, "")
    judged = [Judgement(leak, Level.HIGH, spans=find_mentions(text, leak.evidence))]
    assert ModelRewriter(ScriptedLLM([reply("I work there.")])).rewrite(text, judged)
