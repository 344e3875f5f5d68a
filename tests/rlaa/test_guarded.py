"""A model's roles beside rules for direct identifiers."""

from __future__ import annotations

import json

import pytest

from dynaserve.rlaa import Anonymizer
from dynaserve.rlaa.embedded import EmbeddedEngine
from dynaserve.rlaa.guarded import (
    GuardedArbitrator,
    GuardedAttacker,
    GuardedEditor,
    GuardedRewriter,
)
from dynaserve.rlaa.llm import ScriptedLLM
from dynaserve.rlaa.llm.protocol import TooLongError
from dynaserve.rlaa.records import IDENTIFIER, Edit, Judgement, Leak, Level, Status
from dynaserve.rlaa.roles import RoleError
from dynaserve.rlaa.spans import find_mentions

TEXT = "Mail ada.quill@example.com, the nurse from Porto."
NURSE = Leak("occupation", "nurse", "nurse", 5)


class Model:
    """Sees the nurse, and nothing else; once she is gone, nothing."""

    def __init__(self, judgements: int = 1) -> None:
        self.asked: list[object] = []
        self.judgements = judgements

    def attack(self, text, attributes):  # noqa: ARG002
        return [NURSE] if "nurse" in text else []

    def judge(self, text, leaks):  # noqa: ARG002
        self.asked += leaks
        return [Judgement(leak, Level.HIGH) for leak in leaks] * self.judgements

    def edit(self, text, actionable):
        self.asked += [judged.leak for judged in actionable]
        return [
            Edit(span, text[span.start : span.end], "helper", "occupation")
            for judged in actionable
            for span in judged.spans
        ]


def guarded(model: Model) -> Anonymizer:
    engine = EmbeddedEngine()
    return Anonymizer(
        attacker=GuardedAttacker(model, engine),
        arbitrator=GuardedArbitrator(model, engine),
        editor=GuardedEditor(model, engine),
    )


def test_an_identifier_that_the_model_overlooks_is_replaced_by_its_kind() -> None:
    model = Model()
    result = guarded(model).run(TEXT)
    assert result.status is Status.ANONYMIZED
    assert result.text == "Mail [EMAIL], the helper from Porto."
    assert {leak.attribute for leak in model.asked} == {"occupation"}


def test_the_model_may_not_call_an_identifier_harmless() -> None:
    engine = EmbeddedEngine()
    (email,) = engine.attack(TEXT, ())
    (judged,) = GuardedArbitrator(Model(), engine).judge(TEXT, [email])
    assert (judged.level, judged.leak.attribute) == (Level.HIGH, IDENTIFIER)


@pytest.mark.parametrize("judgements", [0, 2])
def test_a_model_that_judges_too_few_or_too_many_fails(judgements: int) -> None:
    arbitrator = GuardedArbitrator(Model(judgements), EmbeddedEngine())
    with pytest.raises(RoleError, match="one judgement for each leak"):
        arbitrator.judge(TEXT, [NURSE])


def test_what_the_model_calls_an_identifier_is_not_for_it_to_replace() -> None:
    model = Model()
    name = Judgement(
        Leak(IDENTIFIER, "Porto", "Porto", 5), Level.HIGH, spans=find_mentions(TEXT, "Porto")
    )
    (edit,) = GuardedEditor(model, EmbeddedEngine()).edit(TEXT, [name])
    assert edit.after == "[PRIVATE]"
    assert model.asked == []


class Writer:
    """Writes what it is told, and notes what it saw."""

    def __init__(self, write):
        self.write, self.saw = write, []

    def rewrite(self, text, actionable):
        self.saw.append((text, tuple(actionable)))
        return self.write(text)


def rewriting(writer: Writer, attacker=None) -> Anonymizer:
    model, engine = Model(), EmbeddedEngine()
    return Anonymizer(
        mode="rewrite",
        attacker=GuardedAttacker(attacker or model, engine),
        arbitrator=GuardedArbitrator(model, engine),
        rewriter=GuardedRewriter(writer, engine),
    )


def test_who_rewrites_a_text_sees_no_identifier_of_it() -> None:
    class Quoting(Model):
        def attack(self, text, attributes):  # noqa: ARG002
            words = "ada.quill@example.com, the nurse"
            leak = Leak("occupation", "nurse, ADA.QUILL@example.com", words, 5, f"It says {words}.")
            return [leak] if "nurse" in text else []

    writer = Writer(lambda text: text.replace("nurse", "helper"))
    result = rewriting(writer, Quoting()).run(TEXT)
    assert result.text == "Mail [EMAIL], the helper from Porto."
    ((text, (judged,)),) = writer.saw
    assert text == "Mail [EMAIL], the nurse from Porto."
    assert judged.leak == Leak(
        "occupation",
        "nurse, [EMAIL]",
        "[EMAIL], the nurse",
        5,
        "It says [EMAIL], the nurse.",
    )


def test_nobody_is_asked_to_rewrite_a_text_with_nothing_but_identifiers() -> None:
    writer = Writer(None)
    result = rewriting(writer).run("Mail ada.quill@example.com, or call 212-555-0142, at last.")
    assert result.text == "Mail [EMAIL], or call [PHONE], at last."
    assert writer.saw == []


def test_a_leak_that_goes_with_an_identifier_is_nothing_to_rewrite() -> None:
    class Near(Model):
        def attack(self, text, attributes):  # noqa: ARG002
            return [Leak("location", "the coast", "61012", 5)] if "61012" in text else []

    writer = Writer(None)
    result = rewriting(writer, Near()).run("My zip code is 61012, and it rains all day long.")
    assert result.text == "My zip code is [ZIP], and it rains all day long."
    assert writer.saw == []


def test_a_model_that_rewrites_is_guarded() -> None:
    nothing = json.dumps({"reasoning": "nothing", "leaks": []})
    llm = ScriptedLLM([nothing] * 3)
    result = Anonymizer(llm, mode="rewrite").run("Mail ada.quill@example.com, at last.")
    assert result.text == "Mail [EMAIL], at last."


def test_attributes_alone_are_attacked_by_the_model_alone() -> None:
    attacker = GuardedAttacker(Model(), EmbeddedEngine())
    assert [leak.attribute for leak in attacker.attack(TEXT, ["occupation"])] == ["occupation"]


@pytest.mark.parametrize(
    ("identifier", "label"),
    [("12 Oak\nStreet", "[ADDRESS]"), ("212-\n555-0142", "[PHONE]")],
)
def test_no_identifier_is_cut_in_two_where_a_text_is_read_in_pieces(identifier, label) -> None:
    before, after = "Some words. " * 50, " and more. " * 50

    class Short(Model):
        def attack(self, text, attributes):
            if len(text) > 800:
                raise TooLongError(len(text), 800)
            return super().attack(text, attributes)

    result = guarded(Short()).run(before + identifier + after)
    assert result.text == before + label + after
