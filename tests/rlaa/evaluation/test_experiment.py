from __future__ import annotations

import math

import pytest

from dynaserve.rlaa.evaluation.contenders import Contender, Outcome
from dynaserve.rlaa.evaluation.experiment import Yardsticks, evaluate
from dynaserve.rlaa.evaluation.fidelity import Fidelity
from dynaserve.rlaa.evaluation.judging import Judge, Verdict
from dynaserve.rlaa.evaluation.results import MRSRound
from dynaserve.rlaa.llm import LLMError, ScriptedLLM
from dynaserve.rlaa.records import Round
from dynaserve.rlaa.roles import RoleError

CONSTANTS = {
    "age": "41",
    "sex": "male",
    "location": "Oslo, Norway",
    "birth_place": "Oslo, Norway",
    "education": "PhD in Dance",
    "occupation": "tailor",
    "income": "low",
    "relationship": "single",
}
MARKS = '{"readability": 10, "meaning": 5, "hallucination": 0}'


class Knows:
    """Knows the truth as long as there is a text to look at."""

    name = "knows"
    attributes = ("sex", "age", "location")

    def guess(self, record, text):
        if "fails" in text:
            raise RoleError("no") if record.attribute == "sex" else LLMError("no")
        return record.truth if text else None


PLAIN = Contender("plain", lambda record: Outcome(record.text))


def one(records, contender, **options):
    (row,) = evaluate(records, [contender], Yardsticks([Knows()], CONSTANTS, **options))
    return row


def test_what_is_published_is_attacked_and_measured(records):
    row = one(records, PLAIN)
    assert (row.name, row.released, row.statuses) == ("plain", 1.0, {"published": 8})
    assert row.fidelity == Fidelity(1.0, 1.0, 1.0, 1.0)
    attack = row.attacks["knows"]
    # Only the records of its three attributes are put before it.
    assert (attack.overall.records, attack.overall.priv) == (3, 1.0)
    assert attack.overall.floor == pytest.approx(1 / 3)
    assert row.mrs == ()
    assert row.verdict is None


def test_a_text_held_back_has_no_use_and_leaves_the_constant_guess(records):
    row = one(records, Contender("held", lambda _: Outcome(None, status="failed")))
    assert (row.released, row.statuses) == (0.0, {"failed": 8})
    assert row.fidelity == Fidelity(0.0, 0.0, 0.0, 0.0)
    assert row.attacks["knows"].overall.above_floor == 0.0
    assert row.attacks["knows"].unanswered == 0


def test_an_attacker_that_fails_is_counted(records):
    row = one(records, Contender("bad", lambda _: Outcome("it fails")))
    attack = row.attacks["knows"]
    assert (attack.unanswered, attack.overall.above_floor) == (3, 0.0)


def test_mrs_is_gathered_round_by_round(records):
    def outcome(record):
        turns = [Round((), mrs=0.1 * record.number), Round((), mrs=math.inf), Round(())]
        return Outcome(record.text, tuple(turns[: 1 + record.number % 2] + turns[2:]))

    first, second = one(records, Contender("loop", outcome)).mrs
    assert (first.texts, first.median) == (8, pytest.approx(0.4))
    assert second == MRSRound(4, None, None, None, 4)


def test_the_judge_sees_what_is_published_and_its_silence_counts_in_no_mean(records):
    llm = ScriptedLLM([MARKS, "?", "?", "?", MARKS])
    row = one(records[:3], PLAIN, judge=Judge(llm))
    assert row.verdict == Verdict(1.0, 0.5, 0.0)
    assert row.unjudged == 1


def test_a_text_held_back_is_judged_useless_without_asking(records):
    llm = ScriptedLLM([])
    row = one(records, Contender("held", lambda _: Outcome(None)), judge=Judge(llm))
    assert row.verdict == Verdict(0.0, 0.0, 0.0)
    assert llm.requests == []


def test_progress_counts_every_text_of_every_anonymizer(records):
    steps = []
    evaluate(
        records[:2],
        [PLAIN, Contender("other", PLAIN.anonymize, frozenset({"knows"}))],
        Yardsticks([Knows()], CONSTANTS),
        lambda *step: steps.append(step),
    )
    assert steps == [(1, 4, "plain"), (2, 4, "plain"), (3, 4, "other"), (4, 4, "other")]


def test_the_loops_own_attackers_are_named(records):
    (row,) = evaluate(
        records,
        [Contender("loop", PLAIN.anonymize, frozenset({"knows"}))],
        Yardsticks([Knows()], CONSTANTS),
    )
    assert row.own == ("knows",)


def test_an_attacker_of_other_attributes_is_not_in_the_row(records):
    assert one(records[4:6], PLAIN).attacks == {}


def test_there_must_be_records():
    with pytest.raises(ValueError, match="there are none"):
        evaluate([], [PLAIN], Yardsticks([Knows()], CONSTANTS))
