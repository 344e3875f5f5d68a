from __future__ import annotations

import json

import pytest

from dynaserve.rlaa.evaluation.contenders import make_contenders
from dynaserve.rlaa.llm import ScriptedLLM
from dynaserve.rlaa.records import Level


@pytest.fixture(scope="module")
def embedded():
    return {contender.name: contender for contender in make_contenders()}


def test_without_a_model_nobody_rewrites(embedded):
    assert list(embedded) == ["none", "mask-only", "FgAA-Naive", "RLAA edit", "RLAA edit, recorded"]
    assert list(embedded["none"].own) == []
    assert embedded["RLAA edit"].own == {"embedded"}
    assert embedded["RLAA edit, recorded"].own == {"embedded", "recorded"}


def test_with_a_model_it_rewrites_too_and_the_engine_is_nobodys_own():
    lineup = {contender.name: contender for contender in make_contenders(ScriptedLLM([]))}
    assert list(lineup)[-1] == "RLAA rewrite"
    assert lineup["RLAA edit"].own == frozenset()
    assert lineup["RLAA edit, recorded"].own == {"recorded"}


def test_where_the_model_attacks_too_it_is_own_of_every_loop_it_plays_in():
    lineup = {c.name: c.own for c in make_contenders(ScriptedLLM([]), attacks=True)}
    assert lineup == {
        "none": frozenset(),
        "mask-only": frozenset(),
        "FgAA-Naive": {"model"},
        "RLAA edit": {"model"},
        "RLAA edit, recorded": {"model", "recorded"},
        "RLAA rewrite": {"model"},
    }


def test_with_a_model_the_loops_are_those_that_are_shipped(make_record):
    """The model overlooks an address; the rules beside it do not, in any of the loops."""
    nothing = json.dumps({"reasoning": "", "leaks": []})
    lineup = {c.name: c for c in make_contenders(ScriptedLLM([nothing] * 200))}
    record = rewritten(
        make_record("age"),
        "Nice weather, and nothing else to say today, friends. "
        "The garden grows, and the bees are back. Write to ada@example.com.",
    )
    for name in ("FgAA-Naive", "RLAA edit", "RLAA edit, recorded"):
        outcome = lineup[name].anonymize(record)
        assert outcome.text is not None, name
        assert "ada@example.com" not in outcome.text, name
        assert outcome.text.startswith("Nice weather, and nothing else"), name


def rewritten(record, text):
    return type(record)(record.number, text, record.attribute, record.author, record.reply)


def test_masking_labels_addresses_and_leaves_the_rest(embedded, make_record):
    record = rewritten(make_record("age"), "I'm 41, mail ada@example.com.")
    assert embedded["none"].anonymize(record).text == record.text
    assert embedded["mask-only"].anonymize(record).text == "I'm 41, mail [EMAIL]."


def test_the_loop_edits_what_matters_and_tells_of_its_rounds(embedded, make_record):
    outcome = embedded["RLAA edit"].anonymize(make_record("age"))
    assert outcome.text is not None
    assert "41" not in outcome.text
    assert outcome.text.endswith("and my knees know it.")
    assert outcome.status == "anonymized"
    assert outcome.rounds[0].mrs is not None


def test_without_an_arbitrator_faint_hints_are_edited_too(embedded, make_record):
    record = rewritten(make_record("age"), "In my thirties I learned to cook.")
    careful = embedded["RLAA edit"].anonymize(record)
    naive = embedded["FgAA-Naive"].anonymize(record)
    assert careful.text == record.text
    assert naive.text == "something I learned to cook."
    assert naive.rounds[0].judgements[0].level is Level.HIGH


def test_what_a_large_model_quoted_goes_where_it_was_sure(embedded, make_record):
    record = make_record("education")
    sure = type(record.reply)("education", record.reply.reasoning, ("Masters in Botany",) * 3)
    certain = type(record)(1, record.text, "education", record.author, sure)
    assert "botany lectures" in (embedded["RLAA edit"].anonymize(certain).text or "")
    outcome = embedded["RLAA edit, recorded"].anonymize(certain)
    assert outcome.text is not None
    assert "botany lectures" not in outcome.text


def test_naive_publishes_whatever_is_left_and_the_loop_nothing(make_record):
    # A model that is never understood: no attack, no edit.
    lineup = {c.name: c for c in make_contenders(ScriptedLLM([json.dumps("?")] * 6))}
    record = make_record("age")
    naive = lineup["FgAA-Naive"].anonymize(record)
    assert (naive.text, naive.status) == (record.text, "failed")
    loop = lineup["RLAA edit"].anonymize(record)
    assert (loop.text, loop.status) == (None, "failed")
