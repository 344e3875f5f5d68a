"""The loop with roles that do as told: every status, and every way to break the contract."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from dynaserve.rlaa import (
    Anonymizer,
    Edit,
    Judgement,
    Leak,
    Level,
    RoleError,
    Span,
    Status,
    Utility,
)
from dynaserve.rlaa.embedded import EmbeddedEngine
from dynaserve.rlaa.llm import ScriptedLLM
from dynaserve.rlaa.llm.cancellation import cancellable
from dynaserve.rlaa.llm.protocol import LLMError, TooLongError, UnavailableError
from dynaserve.rlaa.records import ATTRIBUTES, IDENTIFIER
from dynaserve.rlaa.spans import apply
from tests.rlaa.scripted import Knowing, Saying, anonymizer

TEXT = "Hi, I'm 31 and a nurse in Porto 🙂.\r\nI love PORTO’s bridges, and the river by night too."
EDITED = (
    "Hi, I'm thirty-something and a health worker in Portugal 🙂.\r\n"
    "I love Portugal’s bridges, and the river by night too."
)
PORTO = Leak("location", "Porto", "Porto", 5)


def test_a_text_that_gives_nothing_away_is_clean() -> None:
    roles = Knowing()
    result = anonymizer(roles).run("What a lovely day.")
    assert (result.status, result.text) == (Status.CLEAN, "What a lovely day.")
    assert result.releasable
    assert result.edits == ()
    assert roles.judged == roles.edited == []
    assert [asked for _, asked in roles.attacks] == [(*ATTRIBUTES, "identifier")]


def test_actionable_leaks_are_generalized_and_all_else_stays() -> None:
    result = anonymizer().run(TEXT)
    assert (result.status, result.text) == (Status.ANONYMIZED, EDITED)
    assert result.releasable
    assert apply(TEXT, result.edits) == EDITED
    assert [TEXT[e.span.start : e.span.end] for e in result.edits] == [
        "31",
        "nurse",
        "Porto",
        "PORTO",
    ]
    assert [e.attribute for e in result.edits] == ["age", "occupation", "location", "location"]


def test_a_round_is_weighed_and_every_edit_has_its_share() -> None:
    first, last = anonymizer().run(TEXT).rounds
    assert first.mpg == pytest.approx(3 * 0.9)
    assert first.muc is not None
    assert 0 < first.muc < 1
    assert first.mrs == pytest.approx(first.muc / 2.7)
    assert [entry.edit for entry in first.ledger] == list(first.edits)
    assert sum(entry.mpg for entry in first.ledger) == pytest.approx(first.mpg)
    assert sum(entry.muc for entry in first.ledger) == pytest.approx(first.muc)
    assert (last.edits, last.mpg, last.muc, last.mrs) == ((), None, None, None)


def test_low_leaks_stay_and_are_shown() -> None:
    result = anonymizer(Knowing({"Porto": Level.LOW, "31": Level.INVALID})).run("I'm 31, in Porto.")
    assert (result.status, result.text) == (Status.CLEAN, "I'm 31, in Porto.")
    assert [judged.level for judged in result.rounds[0].judgements] == [Level.INVALID, Level.LOW]


def test_only_high_leaks_are_edited_if_so_wanted() -> None:
    roles = Knowing({"31": Level.MED})
    result = anonymizer(roles, actionable={Level.HIGH}).run("I'm 31, in Porto, and it is raining.")
    assert result.text == "I'm 31, in Portugal, and it is raining."
    assert result.status is Status.ANONYMIZED


def test_evidence_that_does_not_stand_in_the_text_is_invalid_without_asking() -> None:
    attacker = Saying("attack", [Leak("age", "31", "I am thirty-one", 5)])
    arbitrator = Saying("judge", AssertionError("must not be asked"))
    result = anonymizer(attacker=attacker, arbitrator=arbitrator).run("I am tired.")
    assert result.status is Status.CLEAN
    (ghost,) = result.rounds[0].judgements
    assert (ghost.level, ghost.validity, ghost.spans) == (Level.INVALID, 0.0, ())
    assert arbitrator.calls == []


@pytest.mark.parametrize("evidence", ["(Porto)", "**Porto**", "It rains in ... Porto", "[…] Porto"])
def test_evidence_in_a_models_own_signs_is_no_invention(evidence: str) -> None:
    attacker = Saying("attack", [Leak("location", "Porto", evidence, 5)], [])
    words = {evidence: "Portugal", "It rains in": "Rain falls in", "Porto": "Portugal"}
    roles = Knowing({"It rains in": Level.LOW}, words=words)
    result = anonymizer(roles, attacker=attacker).run("It rains in Porto, and I am at home.")
    assert result.status is Status.ANONYMIZED
    assert result.text == "It rains in Portugal, and I am at home."


def test_of_evidence_in_parts_only_what_stands_is_judged() -> None:
    attacker = Saying("attack", [Leak("location", "Porto", "Porto … the wine cellars", 5)], [])
    roles = Knowing()
    result = anonymizer(roles, attacker=attacker).run("It rains in Porto, and I am at home.")
    assert result.text == "It rains in Portugal, and I am at home."
    assert [leak.evidence for leak in roles.judged[0]] == ["Porto"]
    assert [(j.leak.evidence, j.level) for j in result.rounds[0].judgements] == [
        ("Porto", Level.HIGH),
        ("the wine cellars", Level.INVALID),
    ]


def test_changed_attributes_are_attacked_first_and_the_rest_before_the_end() -> None:
    roles = Knowing()
    anonymizer(roles).run("I'm 31, in Porto, and it is raining.")
    after = "I'm thirty-something, in Portugal, and it is raining."
    rest = tuple(a for a in (*ATTRIBUTES, "identifier") if a not in {"age", "location"})
    assert roles.attacks[1:] == [(after, ("age", "location")), (after, rest)]


def test_what_only_the_last_attack_finds_is_edited_too() -> None:
    age = Leak("age", "31", "31", 5)
    attacker = Saying("attack", [PORTO], [], [age], [])
    result = anonymizer(attacker=attacker).run("I'm 31, in Porto, and it is raining.")
    assert result.status is Status.ANONYMIZED
    assert result.text == "I'm thirty-something, in Portugal, and it is raining."
    assert [e.before for e in result.edits] == ["31", "Porto"]


def test_rounds_compose_into_edits_of_the_original() -> None:
    words = {"Porto": "Portugal", "Portugal": "southern Europe"}
    roles = Knowing(words=words, attributes=dict.fromkeys(words, "location"))
    text = "It rains in Porto, and I am at home."
    result = anonymizer(roles).run(text)
    assert result.text == "It rains in southern Europe, and I am at home."
    (edit,) = result.edits
    assert (edit.span, edit.before, edit.after) == (Span(12, 17), "Porto", "southern Europe")


def test_leaks_left_when_the_rounds_are_used_up_release_nothing() -> None:
    words = {"Porto": "Portugal", "Portugal": "Iberia", "Iberia": "Europe"}
    roles = Knowing(words=words, attributes=dict.fromkeys(words, "location"))
    result = anonymizer(roles, max_rounds=2).run("It rains in Porto, and I am at home.")
    assert (result.status, result.text, result.edits) == (Status.BUDGET_EXHAUSTED, None, ())
    assert not result.releasable
    assert [judged.leak.evidence for judged in result.residual] == ["Iberia"]
    assert "2 rounds" in result.reason
    assert anonymizer(roles, max_rounds=3).run("It rains in Porto, and I am at home.").releasable


@pytest.mark.parametrize(("level", "released"), [(Level.MED, True), (Level.HIGH, False)])
def test_an_edit_that_costs_too_much_is_taken_back(level: Level, released: bool) -> None:
    result = anonymizer(Knowing({"Porto": level}), max_mrs=0.01).run("It rains in Porto.")
    assert result.status is Status.STOPPED_RATIONAL
    assert result.releasable is released
    assert result.text == ("It rains in Porto." if released else None)
    assert result.edits == ()
    assert [judged.leak.evidence for judged in result.residual] == ["Porto"]
    (turn,) = result.rounds
    assert (turn.kept, turn.text) == (False, "It rains in Porto.")
    assert turn.edits[0].after == "Portugal"
    assert turn.mrs is not None
    assert turn.mrs > 0.01
    assert result.reason.startswith(f"the next edits cost {turn.mrs:.3g} per attribute")
    assert result.reason.endswith("; what is left open is graded HIGH") is not released


@pytest.mark.parametrize("text", ["jo@x.com", "Call 212-555-0142 or jo@x.com"])
def test_no_price_keeps_a_direct_identifier_in_a_text(text: str) -> None:
    result = anonymizer(EmbeddedEngine(), max_mrs=0.0).run(text)  # type: ignore[arg-type]
    assert result.status is Status.ANONYMIZED
    assert result.text == text.replace("jo@x.com", "[EMAIL]").replace("212-555-0142", "[PHONE]")
    assert result.rounds[0].mrs is not None
    assert result.rounds[0].mrs > 0


def test_what_matters_less_is_weighed_once_no_identifier_is_open() -> None:
    words = {"31": "middle-aged", "Porto": "Portugal"}
    attacker = Saying("attack", [Leak(IDENTIFIER, "31", "31", 5)], [], [PORTO])
    roles = Knowing({"Porto": Level.MED}, words=words)
    result = anonymizer(roles, attacker=attacker, max_mrs=0.0).run("I'm 31, in Porto, home.")
    assert result.status is Status.STOPPED_RATIONAL
    assert result.text == "I'm middle-aged, in Porto, home."
    assert [turn.kept for turn in result.rounds] == [True, False]
    assert [judged.leak.evidence for judged in result.residual] == ["Porto"]


def test_earlier_edits_stay_when_a_later_one_costs_too_much() -> None:
    words = {"Porto": "Portugal", "Portugal": "x " * 400}
    roles = Knowing(
        {"Portugal": Level.MED}, words=words, attributes=dict.fromkeys(words, "location")
    )
    text = "It rains in Porto, and I am at home."
    result = anonymizer(roles, max_mrs=0.5).run(text)
    assert result.status is Status.STOPPED_RATIONAL
    assert result.text == "It rains in Portugal, and I am at home."
    assert apply(text, result.edits) == result.text


@pytest.mark.parametrize("rounds", [2, 3])
def test_an_identifier_found_where_it_would_have_stopped_is_edited_too(rounds: int) -> None:
    # Round 2 looks at the location alone; the age is only found when all is attacked again.
    harmless = Leak("location", "Portugal", "Portugal", 1)
    number = Leak(IDENTIFIER, "31", "31", 5)
    attacker = Saying("attack", [PORTO], [harmless], [harmless], [number], [])
    words = {"Porto": "Portugal", "Portugal": "x " * 400, "31": "middle-aged"}
    roles = Knowing({"Portugal": Level.MED}, words=words)
    result = anonymizer(roles, attacker=attacker, max_mrs=0.5, max_rounds=rounds).run(
        "I'm 31, in Porto, home at last."
    )
    assert [turn.kept for turn in result.rounds[:3]] == [True, False, True]
    if rounds == 2:
        assert (result.status, result.text) == (Status.BUDGET_EXHAUSTED, None)
        assert {judged.leak.evidence for judged in result.residual} == {"Portugal", "31"}
    else:
        assert result.status is Status.ANONYMIZED
        assert result.text == f"I'm middle-aged, in {'x ' * 400}, home at last."


def test_a_stopped_text_with_a_high_leak_not_yet_attacked_is_not_released() -> None:
    # Round 2 looks at the location alone; the age is only found when all is attacked again.
    harmless = Leak("location", "Portugal", "Portugal", 1)
    attacker = Saying("attack", [PORTO], [harmless], [harmless], [Leak("age", "31", "31", 5)])
    roles = Knowing({"Portugal": Level.MED}, words={"Porto": "Portugal", "Portugal": "x " * 400})
    result = anonymizer(roles, attacker=attacker, max_mrs=0.5).run(
        "I'm 31, in Porto, home at last."
    )
    assert result.status is Status.STOPPED_RATIONAL
    assert (result.releasable, result.text) == (False, None)
    assert {judged.leak.evidence for judged in result.residual} == {"Portugal", "31"}


def test_without_a_limit_nothing_is_too_expensive() -> None:
    result = anonymizer(max_mrs=float("inf")).run("Porto.")
    assert result.text == "Portugal."


def test_an_attacker_who_forgets_does_not_close_a_leak() -> None:
    attacker = Saying("attack", [PORTO], [])
    rewriter = Saying("rewrite", lambda text, _: text.replace("rains", "pours"))
    result = anonymizer(mode="rewrite", attacker=attacker, rewriter=rewriter, max_mrs=9e9).run(
        "It rains in Porto today."
    )
    assert not result.releasable
    assert result.text is None


def test_a_replacement_that_brings_back_other_evidence_leaves_it_open() -> None:
    words = {"31": "as old as a nurse", "nurse": "health worker"}
    attacker = Saying(
        "attack", [Leak("age", "31", "31", 5), Leak("occupation", "n", "nurse", 5)], []
    )
    result = anonymizer(Knowing(words=words), attacker=attacker).run("I'm 31, a nurse, and glad.")
    assert result.text == "I'm as old as a health worker, a health worker, and glad."
    assert len([turn for turn in result.rounds if turn.edits]) == 2


def test_one_word_for_two_attributes_is_edited_once_for_the_gravest() -> None:
    leaks = [Leak("location", "Porto", "Porto", 3), Leak("birth_place", "Porto", "in Porto", 5)]
    attacker = Saying("attack", leaks, [])
    arbitrator = Saying(
        "judge", lambda _, given: [Judgement(given[0], Level.MED), Judgement(given[1], Level.HIGH)]
    )
    editor = Saying("edit", [Edit(Span(8, 16), "in Porto", "somewhere warm", "location")])
    result = anonymizer(attacker=attacker, arbitrator=arbitrator, editor=editor).run(
        "Born... in Porto, where it rains."
    )
    assert result.text == "Born... somewhere warm, where it rains."
    assert [(e.span, e.attribute) for e in result.edits] == [(Span(8, 16), "birth_place")]
    (_, shown), *_ = editor.calls
    assert [judged.spans for judged in shown] == [(Span(8, 16),), (Span(8, 16),)]


def test_a_value_keeps_its_replacement_within_a_text() -> None:
    def fickle(text: str, given: Any) -> list[Edit]:
        spans = [span for judged in given for span in judged.spans]
        return [
            Edit(span, text[span.start : span.end], f"place {number}", "location")
            for number, span in enumerate(spans)
        ]

    result = anonymizer(editor=Saying("edit", fickle)).run("Porto, Porto and PORTO, always.")
    assert result.text == "place 0, place 0 and place 0, always."


def test_only_the_attributes_of_the_call_are_protected_and_identifiers_always() -> None:
    text = "I'm 31, in Porto: write to a@example.com and say hello."
    result = anonymizer().run(text, attributes=["age"])
    assert result.text == "I'm thirty-something, in Porto: write to [EMAIL] and say hello."


def test_an_attribute_that_was_not_asked_for_is_no_fault() -> None:
    attacker = Saying("attack", [PORTO, Leak("age", "31", "31", 5)], [])
    result = anonymizer(attacker=attacker, attributes=["age"]).run("I'm 31, in Porto, and fine.")
    assert result.text == "I'm thirty-something, in Porto, and fine."


def failed(result: Any) -> str:
    assert (result.status, result.text, result.edits) == (Status.FAILED, None, ())
    assert not result.releasable
    assert "Porto" not in result.reason
    return str(result.reason)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (RoleError("the reply is no JSON"), "attacker: the reply is no JSON"),
        (LLMError("generation stopped"), "attacker: generation stopped"),
        (ValueError("Porto"), "attacker: ValueError"),
        (None, "no list"),
        ("[]", "no list"),
        ({}, "no list"),
        (iter([]), "no list"),
        ([PORTO, None], "unexpected type"),
        ([PORTO, {"attribute": "age"}], "unexpected type"),
        ([Leak("place of birth", "", "Porto", 5)], "does not exist"),
        ([Leak("Location", "", "Porto", 5)], "does not exist"),
        ([Leak("location", "", "Porto", 6)], "certainty"),
        ([Leak("location", "", "Porto", True)], "certainty"),
        ([Leak("location", "", None, 5)], "no text"),  # type: ignore[arg-type]
    ],
)
def test_an_attack_that_cannot_be_read_whole_fails(reply: Any, reason: str) -> None:
    for before in ([], [[PORTO]]):  # at once, and after an edit
        attacker = Saying("attack", *before, reply)
        assert reason in failed(anonymizer(attacker=attacker).run("It rains in Porto."))


def graded(level: Any = Level.HIGH, **fields: Any) -> Any:
    return lambda _, leaks: [Judgement(leak, level, **fields) for leak in leaks]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (RoleError("no grade"), "arbitrator: no grade"),
        (KeyError("Porto"), "arbitrator: KeyError"),
        ([], "one judgement for each"),
        (lambda _, leaks: [Judgement(leaks[0], Level.LOW)] * 2, "one judgement for each"),
        ([Judgement(Leak("age", "", "Porto", 5), Level.LOW)], "another leak"),
        (["LOW"], "unexpected type"),
        (graded("none"), "grade that does not exist"),
        (graded(None), "grade that does not exist"),
        (graded(reason=None), "no text"),
        (graded(validity=float("nan")), "no probability"),
        (graded(validity=1.5), "no probability"),
        (graded(validity="1"), "no probability"),
    ],
)
def test_a_leak_without_a_grade_fails(reply: Any, reason: str) -> None:
    arbitrator = Saying("judge", reply)
    assert reason in failed(anonymizer(arbitrator=arbitrator).run("It rains in Porto."))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (RoleError("no words"), "editor: no words"),
        (RuntimeError("Porto"), "editor: RuntimeError"),
        ([], "left a span"),
        ("Portugal", "no list"),
        ([Edit(Span(12, 17), "Porto", "Portugal", "")] * 2, "twice"),
        ([Edit(Span(0, 2), "It", "He", ""), Edit(Span(12, 17), "Porto", "x", "")], "not asked to"),
        ([Edit(Span(12, 99), "Porto", "x", "")], "outside"),
        ([Edit(Span(-6, -1), "Porto", "x", "")], "outside"),
        ([Edit(Span(12, 17), "Lisbon", "x", "")], "other words"),
        ([Edit((12, 17), "Porto", "x", "")], "without a place"),  # type: ignore[arg-type]
        ([Edit(Span(12, 17), "Porto", None, "")], "no text"),  # type: ignore[arg-type]
        ([Edit(Span(12, 17), "Porto", "Porto", "")], "repeated"),
        ([Edit(Span(12, 17), "Porto", "near PORTO", "")], "repeated"),
        ([Edit(Span(12, 17), "Porto", "Portu\u0000gal", "")], "U+0000"),
        ([Edit(Span(12, 17), "Porto", "\u202egal", "")], "U+202E"),
        ([Edit(Span(12, 17), "Porto", "a\nb", "")], "U+000A"),
        ([Edit(Span(12, 17), "Porto", "\ud800", "")], "U+D800"),
        ([None], "unexpected type"),
    ],
)
def test_an_editor_that_breaks_its_contract_fails(reply: Any, reason: str) -> None:
    editor = Saying("edit", reply)
    assert reason in failed(anonymizer(editor=editor).run("It rains in Porto."))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (RoleError("cut short"), "rewriter: cut short"),
        (None, "no text"),
        (" \n", "empty"),
        ("It rains in Porto.", "left the text as it was"),
        ("It rains.\u0007", "U+0007"),
    ],
)
def test_a_rewriter_that_breaks_its_contract_fails(reply: Any, reason: str) -> None:
    rewriter = Saying("rewrite", reply)
    result = anonymizer(mode="rewrite", rewriter=rewriter).run("It rains in Porto.")
    assert reason in failed(result)


def test_a_rewrite_is_shown_as_the_words_that_differ() -> None:
    text = "\nIt rains in Porto, where I live, and I do not like it at all.\n"
    rewriter = Saying("rewrite", "It rains in Portugal, where I live, and I do not like it at all.")
    result = anonymizer(mode="rewrite", rewriter=rewriter).run(text)
    assert result.status is Status.ANONYMIZED
    assert result.text == text.replace("Porto", "Portugal")
    assert [(e.before, e.after, e.attribute) for e in result.edits] == [
        ("Porto", "Portugal", "location")
    ]


def test_a_cancelled_run_fails() -> None:
    event = threading.Event()
    event.set()
    with cancellable(event):
        assert "cancelled" in failed(anonymizer().run("It rains in Porto."))


@pytest.mark.parametrize("step", ["attack", "judge", "edit", "utility"])
def test_whoever_cancels_a_run_gets_no_text(step: str) -> None:
    event, roles = threading.Event(), Knowing({"Porto": Level.MED})

    def then(do: Any) -> Any:
        def also(*arguments: Any) -> Any:
            event.set()
            return do(*arguments)

        return also

    utility: Any = then(lambda *_: 0.1) if step == "utility" else Utility()
    if step != "utility":
        setattr(roles, step, then(getattr(roles, step)))
    with cancellable(event):
        result = anonymizer(roles, utility=utility, max_mrs=0.01).run("It rains in Porto.")
    assert "cancelled" in failed(result)


def test_a_score_that_cannot_be_had_fails() -> None:
    result = anonymizer(utility=broken).run("It rains in Porto.")
    assert failed(result) == "utility: ValueError"
    assert not result.outage


def broken(*_: str) -> float:
    raise ValueError("Porto")


def test_a_model_that_is_not_there_is_an_outage_and_asked_once() -> None:
    llm = ScriptedLLM([UnavailableError("the model's server answered 503"), *["{}"] * 3])
    anonymize = Anonymizer(llm)
    result = anonymize.run("It rains in Porto.")
    assert failed(result) == "attacker: the model's server answered 503"
    assert result.outage
    assert not anonymize.run("It rains in Porto.").outage  # that it answers nonsense is none


class Short(Knowing):
    """Reads at most so many characters at once."""

    limit = 60

    def attack(self, text: str, attributes: Any) -> Any:
        self.fits(text)
        return super().attack(text, attributes)

    def edit(self, text: str, actionable: Any) -> Any:
        self.fits(text)
        return super().edit(text, actionable)

    def rewrite(self, text: str, _: Any) -> str:
        self.fits(text)
        return text.replace("Porto", "Portugal").replace("31", "thirty-something")

    def fits(self, text: str) -> None:
        if len(text) > self.limit:
            raise TooLongError(len(text), self.limit)


LONG = (
    "I'm 31.\n"
    + "It rains all day long here. " * 8
    + "I live in Porto! "
    + "Nice, Porto, is it? " * 3
)


@pytest.mark.parametrize("mode", ["edit", "rewrite"])
def test_a_long_text_is_read_and_edited_in_pieces_and_nothing_is_lost(mode: Any) -> None:
    roles = Short()
    result = anonymizer(roles, mode=mode, rewriter=roles).run(LONG)
    assert result.text == LONG.replace("Porto", "Portugal").replace("31", "thirty-something")
    assert apply(LONG, result.edits) == result.text
    leaks = [judged.leak.evidence for judged in result.rounds[0].judgements]
    assert sorted(leaks) == ["31", "Porto"]  # merged over the pieces


def test_a_sentence_too_long_for_a_role_is_refused_with_the_limit() -> None:
    result = anonymizer(Short()).run("I live in Porto. " + "word " * 20)
    assert "too long" in failed(result)
    assert "60" in result.reason


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "mask"},
        {"attributes": ["shoe_size"]},
        {"attributes": "age"},
        {"actionable": set()},
        {"actionable": {Level.MED}},
        {"actionable": {Level.HIGH, Level.INVALID}},
        {"actionable": {"SOME"}},
        {"max_mrs": -1.0},
        {"max_mrs": float("nan")},
        {"attack_tokens": 0},
        {"attack_tokens": 9.5},
        {"max_rounds": 0},
        {"max_rounds": True},
        {"grades": "guess"},
        {"attacker": None},
        {"editor": None},
        {"mode": "rewrite"},
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options)) + "|rewriter"):
        anonymizer(**options)


def test_bad_texts_and_attributes_of_a_call_are_refused() -> None:
    with pytest.raises(TypeError, match="text"):
        anonymizer().run(b"Porto")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="shoe_size"):
        anonymizer().run("Porto", attributes=["shoe_size"])


def test_an_empty_text_is_clean() -> None:
    assert anonymizer().run("").status is Status.CLEAN


def test_records_do_not_show_the_text() -> None:
    result = anonymizer().run(TEXT)
    assert "Porto" not in repr(result) + repr(result.rounds) + repr(result.edits)


def test_the_embedded_engine_plays_every_role() -> None:
    text = "I'm 31 and I live in Porto. Write to ada.quill@example.com, or note212-555-0142."
    result = Anonymizer.embedded().run(text)
    assert result.status is Status.ANONYMIZED
    assert result.text is not None
    for word in ("31", "Porto", "ada.quill", "212-555"):
        assert word not in result.text
    assert apply(text, result.edits) == result.text


def test_a_model_plays_every_role_that_is_not_given() -> None:
    leak = {"attribute": "location", "guess": "Porto", "evidence": "Porto", "certainty": 5}
    found = {"reasoning": "it says so", "leaks": [leak | {"reasoning": "named"}]}
    nothing = json.dumps({"reasoning": "nothing", "leaks": []})
    words = {"replacements": [{"number": 1, "replacement": "a city by the sea"}]}
    replies = [json.dumps(found), json.dumps(words), nothing, nothing]
    llm = ScriptedLLM(replies, scores=[[0.9, 0.05, 0.03, 0.02]])
    result = Anonymizer(llm).run("It rains in Porto, and I stay at home.")
    assert result.status is Status.ANONYMIZED
    assert result.text == "It rains in a city by the sea, and I stay at home."


def test_a_model_without_probabilities_writes_its_grades() -> None:
    leak = {"attribute": "location", "guess": "Porto", "evidence": "Porto", "certainty": 5}
    found = {"reasoning": "it says so", "leaks": [leak | {"reasoning": "named"}]}
    grades = {"grades": [{"number": 1, "reason": "a city is no person", "level": "LOW"}]}
    result = Anonymizer(
        ScriptedLLM([json.dumps(found), json.dumps(grades)]), grades="generate"
    ).run("It rains in Porto, and I stay at home.")
    assert result.status is Status.CLEAN
    assert [judged.level for judged in result.rounds[0].judgements] == [Level.LOW]


def test_a_model_attacks_with_as_many_tokens_as_it_may() -> None:
    for options, tokens in (({}, 1024), ({"attack_tokens": 99}, 99)):
        llm = ScriptedLLM([json.dumps({"reasoning": "nothing", "leaks": []})])
        assert Anonymizer(llm, **options).run("It rains.").status is Status.CLEAN
        assert [request.max_tokens for request in llm.requests] == [tokens]


def attack_on(*words: str) -> str:
    leak = {"attribute": "location", "guess": "a city", "reasoning": "named", "certainty": 5}
    leaks = [leak | {"evidence": word} for word in words]
    return json.dumps({"reasoning": "it says so", "leaks": leaks})


def test_a_text_with_more_leaks_than_a_reply_holds_is_read_in_halves() -> None:
    cities = [f"City{number}" for number in range(30)]
    halves = [". ".join(part) + ". " for part in (cities[:15], cities[15:])]

    def reply(request: Any) -> str:
        document = request.messages[1].content.partition("END DOCUMENT")[0]
        return attack_on(*[city for city in cities if f"{city}." in document][:24])

    llm = ScriptedLLM([reply] * 99, scores=[[0.1, 0.1, 0.7, 0.1]] * 99)
    result = Anonymizer(llm).run("".join(halves))
    assert result.status is Status.CLEAN
    assert {judged.leak.evidence for judged in result.rounds[0].judgements} == set(cities)


def test_a_sentence_with_more_leaks_than_a_reply_holds_fails() -> None:
    cities = [f"City{number}" for number in range(30)]
    result = Anonymizer(ScriptedLLM([attack_on(*cities[:24])] * 3)).run(" and ".join(cities))
    assert "too much" in failed(result)


def test_a_reply_that_is_cut_off_is_no_clean_text() -> None:
    llm = ScriptedLLM(['{"reasoning": "it says so", "leaks": [{"attribute": "loc'] * 3)
    failed(Anonymizer(llm).run("It rains in Porto, and I stay at home."))
