"""Runs every anonymizer over every record and puts what it publishes before every attacker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dynaserve.rlaa.evaluation.contenders import Contender, Outcome
from dynaserve.rlaa.evaluation.data import Record
from dynaserve.rlaa.evaluation.fidelity import Fidelity, fidelity, mean_of
from dynaserve.rlaa.evaluation.judging import Judge, Verdict, mean_verdict
from dynaserve.rlaa.evaluation.privacy import Guess, Opponent, attack_of, scored
from dynaserve.rlaa.evaluation.results import Row, mrs_round
from dynaserve.rlaa.llm.protocol import LLMError
from dynaserve.rlaa.roles import RoleError
from dynaserve.rlaa.utility import Utility

Progress = Callable[[int, int, str], None]
"""Called with steps done, steps in all, and what has just been done."""

_NOTHING = Verdict(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Yardsticks:
    """What every anonymizer is measured with.

    Attributes
    ----------
    opponents
        The attackers.
    constants
        Attribute -> the guess of an attacker who reads nothing.
    judge
        Of utility, where there is one.
    utility
        Embeddings and overlaps of words.
    """

    opponents: Sequence[Opponent]
    constants: Mapping[str, str]
    judge: Judge | None = None
    utility: Utility = field(default_factory=Utility)


def evaluate(
    records: Sequence[Record],
    contenders: Sequence[Contender],
    yardsticks: Yardsticks,
    progress: Progress | None = None,
) -> list[Row]:
    """Return a row for each anonymizer, in their order.

    A text that is held back has no utility, and an attacker is left with the constant guess.

    Raises
    ------
    ValueError
        Without records.
    ImportError
        Naming the extra that is missing.
    """
    if not records:
        raise ValueError("records: there are none")
    total, tell = len(contenders) * len(records), progress or (lambda *_: None)
    rows = []
    for place, contender in enumerate(contenders):
        tally = _Tally(yardsticks)
        for done, record in enumerate(records, 1):
            tally.add(record, contender.anonymize(record))
            tell(place * len(records) + done, total, contender.name)
        rows.append(tally.row(contender))
    return rows


class _Tally:
    """What is found of one anonymizer, text by text."""

    def __init__(self, yardsticks: Yardsticks) -> None:
        self._yardsticks = yardsticks
        self._fidelities: list[Fidelity] = []
        self._verdicts: list[Verdict] = []
        self._unjudged = 0
        self._released = 0
        self._guesses: dict[str, list[Guess]] = {}
        self._unanswered: Counter[str] = Counter()
        self._statuses: Counter[str] = Counter()
        self._mrs: list[list[float]] = []

    def add(self, record: Record, outcome: Outcome) -> None:
        text = outcome.text
        self._statuses[outcome.status] += 1
        self._released += text is not None
        self._fidelities.append(fidelity(record.text, text, self._yardsticks.utility))
        self._judge(record.text, text)
        for opponent in self._yardsticks.opponents:
            if record.attribute in opponent.attributes:
                guess = None if text is None else self._guess(opponent, record, text)
                found = scored(record, guess, self._yardsticks.constants)
                self._guesses.setdefault(opponent.name, []).append(found)
        weighed = [turn.mrs for turn in outcome.rounds if turn.mrs is not None]
        for number, mrs in enumerate(weighed):
            if number == len(self._mrs):
                self._mrs.append([])
            self._mrs[number].append(mrs)

    def row(self, contender: Contender) -> Row:
        count = len(self._fidelities)
        return Row(
            name=contender.name,
            released=self._released / count,
            fidelity=mean_of(self._fidelities),
            attacks={
                opponent.name: attack_of(guesses, self._unanswered[opponent.name])
                for opponent in self._yardsticks.opponents
                if (guesses := self._guesses.get(opponent.name))
            },
            own=tuple(sorted(contender.own)),
            statuses=dict(sorted(self._statuses.items())),
            mrs=tuple(map(mrs_round, self._mrs)),
            verdict=mean_verdict(self._verdicts) if self._verdicts else None,
            unjudged=self._unjudged,
        )

    def _guess(self, opponent: Opponent, record: Record, text: str) -> str | None:
        try:
            return opponent.guess(record, text)
        except (RoleError, LLMError):
            self._unanswered[opponent.name] += 1
            return None

    def _judge(self, original: str, text: str | None) -> None:
        judge = self._yardsticks.judge
        if judge is None:
            return
        try:
            self._verdicts.append(_NOTHING if text is None else judge.judge(original, text))
        except (RoleError, LLMError):
            self._unjudged += 1
