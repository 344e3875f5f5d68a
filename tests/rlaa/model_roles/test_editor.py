"""Replacements: one for each value, more general than it, and nothing but a replacement."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.rlaa.llm.protocol import Completion, LLMError, TooLongError
from dynaserve.rlaa.llm.scripted import ScriptedLLM
from dynaserve.rlaa.model_roles import ModelEditor
from dynaserve.rlaa.records import Edit, Judgement, Leak, Level, Span
from dynaserve.rlaa.roles import RoleError
from dynaserve.rlaa.spans import apply, find_mentions

TEXT = "Porto is home. My wife loves PORTO, and my wife cooks."


def judged(evidence, attribute="location", guess="Somewhere", text=TEXT):
    leak = Leak(attribute, guess, evidence, 4, "")
    return Judgement(leak, Level.HIGH, spans=find_mentions(text, evidence))


PLACE = judged("Porto", guess="Porto, Portugal")
WIFE = judged("my wife", "relationship", "married")


def reply(*replacements):
    listed = [{"number": n, "replacement": words} for n, words in enumerate(replacements, 1)]
    return json.dumps({"replacements": listed})


def test_every_mention_is_replaced_and_equal_ones_alike():
    llm = ScriptedLLM([reply("The north", "My partner")])
    edits = ModelEditor(llm).edit(TEXT, [PLACE, WIFE])
    assert edits == [
        Edit(Span(0, 5), "Porto", "The north", "location"),
        Edit(Span(15, 22), "My wife", "My partner", "relationship"),
        Edit(Span(29, 34), "PORTO", "THE NORTH", "location"),
        Edit(Span(40, 47), "my wife", "my partner", "relationship"),
    ]
    assert apply(TEXT, edits) == (
        "The north is home. My partner loves THE NORTH, and my partner cooks."
    )
    (request,) = llm.requests
    assert (request.temperature, request.top_p) == (0.5, 0.9)
    task = request.messages[1].content.rpartition("Quotes:\n")[2]
    assert task.splitlines() == [
        '1. {"quote": "Porto", "gives away": "location", '
        '"led a reader to think": "Porto, Portugal"}',
        '2. {"quote": "My wife", "gives away": "relationship", "led a reader to think": "married"}',
    ]


@pytest.mark.parametrize("character", ["\t", "\r", "\n", "\u2028"])
def test_a_character_that_the_loop_would_refuse_is_asked_for_again(character):
    text = "Porto\u2028is home, and so is Porto.\tReally."
    llm = ScriptedLLM([reply(f"the{character}north"), reply("the north")])
    edits = ModelEditor(llm).edit(text, [judged("Porto", text=text)])
    assert [edit.after for edit in edits] == ["the north"] * 2


def test_what_stands_in_one_mention_alone_may_not_be_written_in_all():
    text = "Rua\nAugusta, then. Rua Augusta."
    llm = ScriptedLLM([reply("a\nstreet"), reply("a street")])
    edits = ModelEditor(llm).edit(text, [judged("Rua Augusta", text=text)])
    assert [edit.after for edit in edits] == ["a street"] * 2


def test_a_lower_case_mention_that_comes_first_gets_its_capital_later():
    text = "we met my wife. My wife cooks. I like it."
    edits = ModelEditor(ScriptedLLM([reply("a partner")])).edit(
        text, [judged("my wife", "relationship", "married", text)]
    )
    assert [edit.after for edit in edits] == ["a partner", "A partner"]


def test_a_single_capital_is_no_shouting():
    text = "so i think I know"
    edits = ModelEditor(ScriptedLLM([reply("someone here")])).edit(
        text, [judged("i", "sex", "male", text)]
    )
    assert [edit.after for edit in edits] == ["someone here", "Someone here"]


def test_overlapping_evidence_is_replaced_as_one():
    text = "I live with my wife in Porto now."
    both = [
        judged("my wife in Porto", "relationship", "married", text),
        judged("in Porto now", "location", "Portugal", text),
        judged("wife", "sex", "male", text),
    ]
    llm = ScriptedLLM([reply("somebody in the north")])
    (edit,) = ModelEditor(llm).edit(text, both)
    assert apply(text, [edit]) == "I live with somebody in the north."
    assert edit.attribute == "relationship"
    assert '"relationship, location, sex"' in llm.requests[0].messages[1].content


@pytest.mark.parametrize(
    "replacement",
    [
        "", "  ", "\u200b", "Porto", "the PORTO area", "P\u200borto", "ｐｏｒｔｏ",
        "somewhere, Portugal", "the north\nIgnore this", "n" * 81,
        "I'm sorry, I can't help with that.", "a\u202eb", "a\x00b", "P\u043erto", "Por to", "P0rto",
        "otroP", "N/A", "[replacement]", "<img src=x onerror=alert(1)>",
    ],
)  # fmt: skip
def test_a_replacement_that_may_not_stand_there_is_refused(replacement):
    place = [judged("Porto", guess="Portugal")]
    assert ModelEditor(ScriptedLLM([reply(replacement), reply("the north")])).edit(TEXT, place)
    with pytest.raises(RoleError, match="in 3 tries"):
        ModelEditor(ScriptedLLM([reply(replacement)] * 3)).edit(TEXT, place)


def test_only_what_was_refused_is_asked_again():
    llm = ScriptedLLM([reply("The north", "my wife"), reply("My partner")])
    edits = ModelEditor(llm, seed=3).edit(TEXT, [PLACE, WIFE])
    assert apply(TEXT, edits).startswith("The north is home. My partner loves")
    assert [request.seed for request in llm.requests] == [3, 4]
    again = llm.requests[1].messages[1].content.rpartition("Quotes:\n")[2]
    assert again.startswith('1. {"quote": "My wife"')
    assert "Porto" not in again


@pytest.mark.parametrize(
    "bad",
    [
        reply("the north"), reply("the north", "my partner", "more"), reply("a", "b")[:-4],
        "the north; my partner", LLMError("gone"),
        Completion(reply("the north", "my partner"), finished=False),
    ],
)  # fmt: skip
def test_a_span_without_an_answer_leaves_no_edit_at_all(bad):
    with pytest.raises(RoleError):
        ModelEditor(ScriptedLLM([bad] * 3)).edit(TEXT, [PLACE, WIFE])


def test_several_lines_may_be_replaced_by_as_many():
    text = "12 Elm Road\nOldtown is where I live."
    place = [judged("12 Elm Road\nOldtown", "identifier", "an address", text)]
    llm = ScriptedLLM([reply("one\ntwo\nthree"), reply("A street\nA town")])
    assert apply(text, ModelEditor(llm).edit(text, place)) == "A street\nA town is where I live."


def test_a_long_value_may_have_a_long_replacement():
    text = f"It is {'very ' * 50}far."
    words = "quite a way, as one says, " * 10
    place = [judged(("very " * 50).strip(), text=text)]
    assert ModelEditor(ScriptedLLM([reply(words)])).edit(text, place)[0].after == words.strip()


def test_nothing_to_replace_needs_no_model():
    assert ModelEditor(ScriptedLLM()).edit(TEXT, []) == []
    assert ModelEditor(ScriptedLLM()).edit(TEXT, [judged("nowhere")]) == []


def test_a_text_that_is_too_long_reaches_whoever_can_split_it():
    with pytest.raises(TooLongError):
        ModelEditor(ScriptedLLM([reply("x")], context=50)).edit(TEXT, [PLACE])


@given(st.lists(st.text(max_size=30), min_size=3, max_size=3))
def test_whatever_the_model_proposes_the_value_never_comes_back(proposals):
    editor = ModelEditor(ScriptedLLM([reply(words) for words in proposals]))
    try:
        edits = editor.edit(TEXT, [PLACE])
    except RoleError:
        return
    after = apply(TEXT, edits)
    assert find_mentions(after, "Porto") == ()
    assert " is home. My wife loves " in after
    assert after.endswith(", and my wife cooks.")
    assert "\n" not in after
