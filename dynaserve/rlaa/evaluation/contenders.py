"""The anonymizers that are compared, each as a function from a record to what it would publish."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from dynaserve.redaction import redact
from dynaserve.rlaa.embedded import EmbeddedEngine
from dynaserve.rlaa.evaluation.data import YEAR, Record
from dynaserve.rlaa.guarded import GuardedAttacker, GuardedEditor
from dynaserve.rlaa.llm.protocol import LLM
from dynaserve.rlaa.loop import Anonymizer
from dynaserve.rlaa.model_roles import ModelAttacker, ModelEditor
from dynaserve.rlaa.model_roles.recorded import RecordedAttacker
from dynaserve.rlaa.records import Edit, Judgement, Leak, Level, Result, Round
from dynaserve.rlaa.roles import Attacker, Editor
from dynaserve.rlaa.spans import find_mentions


@dataclass(frozen=True)
class Outcome:
    """What an anonymizer makes of a text.

    Attributes
    ----------
    text
        What it publishes; None if it publishes nothing.
    rounds
        Of the loop, for anonymizers that have one.
    status
        How it ended.
    """

    text: str | None = field(repr=False)
    rounds: tuple[Round, ...] = field(default=(), repr=False)
    status: str = "published"


@dataclass(frozen=True)
class Contender:
    """One row of the table.

    Attributes
    ----------
    name
        What tables call it.
    anonymize
        Returns what comes of a record's text.
    own
        Names of the opponents that play in its own loop: what they find in the end says how far
        the loop got, not how private the text is.
    """

    name: str
    anonymize: Callable[[Record], Outcome]
    own: frozenset[str] = frozenset()


def make_contenders(
    llm: LLM | None = None, *, seed: int = 0, attacks: bool = False
) -> list[Contender]:
    """Return the anonymizers that can run: with a model all play by it, else by the engine.

    Parameters
    ----------
    llm
        Plays every role of the loops; rewriting needs one.
    seed
        Of its sampling.
    attacks
        Whether it is also the opponent ``model``.

    Raises
    ------
    ImportError
        Without the extra ``anonymize``.
    """
    make: Callable[..., Anonymizer] = partial(Anonymizer, llm, seed=seed)
    if llm is None:
        make = partial(Anonymizer.embedded, year=YEAR)
    attacker, editor = _own_roles(llm, seed)
    loop = make()
    naive = make(arbitrator=_Nobody(), editor=_Insisting(editor), max_mrs=math.inf)
    own = frozenset({"embedded"} if llm is None else {"model"} if attacks else ())
    chosen = [
        Contender("none", lambda record: Outcome(record.text)),
        Contender("mask-only", lambda record: Outcome(redact(record.text))),
        Contender("FgAA-Naive", lambda record: _whatever_is_left(record, naive), own),
        Contender("RLAA edit", lambda record: _releasable(loop.run(record.text)), own),
        Contender("RLAA edit, recorded", _with_record(make, attacker), own | {"recorded"}),
    ]
    if llm is not None:
        rewriting = make(mode="rewrite")
        chosen.append(
            Contender("RLAA rewrite", lambda record: _releasable(rewriting.run(record.text)), own)
        )
    return chosen


def _own_roles(llm: LLM | None, seed: int) -> tuple[Attacker, Editor]:
    """Return an anonymizer's own attacker and editor, for loops in which another joins them."""
    engine = EmbeddedEngine(year=YEAR)
    if llm is None:
        return engine, engine
    return (
        GuardedAttacker(ModelAttacker(llm, seed=seed), engine),
        GuardedEditor(ModelEditor(llm, seed=seed), engine),
    )


def _releasable(result: Result) -> Outcome:
    return Outcome(result.text, result.rounds, result.status.value)


def _whatever_is_left(record: Record, loop: Anonymizer) -> Outcome:
    """Publish the last version, whatever is open or went wrong: the method has no reason not to."""
    result = loop.run(record.text)
    last = result.rounds[-1].text if result.rounds else record.text
    return Outcome(last, result.rounds, result.status.value)


def _with_record(
    make: Callable[..., Anonymizer], attacker: Attacker
) -> Callable[[Record], Outcome]:
    """Return the loop whose attacker also concludes what a large model once did."""

    def anonymize(record: Record) -> Outcome:
        both = _Several((attacker, RecordedAttacker([record.reply])))
        return _releasable(make(attacker=both).run(record.text))

    return anonymize


class _Nobody:
    """No arbitrator: every leak whose evidence stands in the text calls for an edit."""

    def judge(self, text: str, leaks: Sequence[Leak]) -> Sequence[Judgement]:  # noqa: ARG002
        return [Judgement(leak, Level.HIGH) for leak in leaks]


@dataclass(frozen=True)
class _Insisting:
    """Writes "something" where an editor knows nothing more general than what stands there."""

    editor: Editor

    def edit(self, text: str, actionable: Sequence[Judgement]) -> Sequence[Edit]:
        return [
            replace(edit, after="something") if find_mentions(edit.after, edit.before) else edit
            for edit in self.editor.edit(text, actionable)
        ]


@dataclass(frozen=True)
class _Several:
    attackers: Sequence[Attacker]

    def attack(self, text: str, attributes: Sequence[str]) -> Sequence[Leak]:
        return [leak for one in self.attackers for leak in one.attack(text, attributes)]
