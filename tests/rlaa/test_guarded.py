"""A model's roles beside rules for direct identifiers."""

from __future__ import annotations

import pytest

from dynaserve.rlaa import Anonymizer
from dynaserve.rlaa.embedded import EmbeddedEngine
from dynaserve.rlaa.guarded import GuardedArbitrator, GuardedAttacker, GuardedEditor
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


def test_attributes_alone_are_attacked_by_the_model_alone() -> None:
    attacker = GuardedAttacker(Model(), EmbeddedEngine())
    assert [leak.attribute for leak in attacker.attack(TEXT, ["occupation"])] == ["occupation"]
