"""How much attackers learn from a text, and how much of it anybody could have said without it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dynaserve.rlaa.evaluation.data import Record
from dynaserve.rlaa.evaluation.scoring import CLASSES, class_of, score

_95_PERCENT = 1.96


class Opponent(Protocol):
    """An attacker that the anonymized texts are put before."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    @property
    def attributes(self) -> Sequence[str]:
        """What it guesses; records of other attributes are not put before it."""
        ...

    def guess(self, record: Record, text: str) -> str | None:
        """Return what the record's attribute is, judged by a text; None if it tells nothing.

        Of the record it may know what was written and asked, never the truth.

        Raises
        ------
        RoleError, LLMError
            If there is no answer.
        """
        ...


@dataclass(frozen=True)
class Guess:
    """One guess, scored.

    Attributes
    ----------
    attribute
        What was guessed.
    score, floor
        Of this guess, and of the constant one, in 0..1.
    truth
        The class of the truth, for attributes that have classes.
    """

    attribute: str
    score: float
    floor: float
    truth: str | None


def scored(record: Record, guess: str | None, constants: Mapping[str, str]) -> Guess:
    """Return the score of a guess; who has none says the constant one, as any attacker would."""
    attribute, truth = record.attribute, record.truth
    floor = score(attribute, constants[attribute], truth)
    reached = floor if guess is None else score(attribute, guess, truth)
    return Guess(
        attribute, reached, floor, class_of(attribute, truth) if attribute in CLASSES else None
    )


def constant_guesses(records: Iterable[Record]) -> dict[str, str]:
    """Return attribute -> the one guess that scores the most over all records, by their truths.

    It stands for an attacker who knows who takes part and reads nothing. Ties: the first in the
    alphabet.
    """
    truths: dict[str, list[str]] = {}
    for record in records:
        truths.setdefault(record.attribute, []).append(record.truth)
    return {attribute: _best(attribute, truths[attribute]) for attribute in sorted(truths)}


def _best(attribute: str, truths: Sequence[str]) -> str:
    candidates = sorted(set(CLASSES.get(attribute, truths)))
    return max(candidates, key=lambda guess: sum(score(attribute, guess, t) for t in truths))


@dataclass(frozen=True)
class Rate:
    """Success over some records.

    Attributes
    ----------
    records
        How many.
    priv
        Mean score of the guesses, the paper's PRIV: lower is more private.
    floor
        That of the constant guess.
    margin
        Half of the 95% interval of ``priv - floor``, by its standard error over the records.
    balanced
        Mean over the classes of the truth; None for attributes without classes.
    """

    records: int
    priv: float
    floor: float
    margin: float
    balanced: float | None = None

    @property
    def above_floor(self) -> float:
        """What was learned from the texts."""
        return self.priv - self.floor


@dataclass(frozen=True)
class Attack:
    """What one attacker made of all texts of one anonymizer.

    Attributes
    ----------
    overall
        Over all records that it attacks.
    by_attribute
        The same for each attribute.
    unanswered
        How often it failed; these count as the constant guess.
    """

    overall: Rate
    by_attribute: Mapping[str, Rate]
    unanswered: int = 0


def attack_of(guesses: Sequence[Guess], unanswered: int = 0) -> Attack:
    """Return what guesses amount to; there must be one at least."""
    groups: dict[str, list[Guess]] = {}
    for guess in guesses:
        groups.setdefault(guess.attribute, []).append(guess)
    return Attack(
        _rate(guesses), {name: _rate(groups[name]) for name in sorted(groups)}, unanswered
    )


def _rate(guesses: Sequence[Guess]) -> Rate:
    count = len(guesses)
    priv = sum(guess.score for guess in guesses) / count
    floor = sum(guess.floor for guess in guesses) / count
    spread = sum((g.score - g.floor - (priv - floor)) ** 2 for g in guesses) / max(count - 1, 1)
    return Rate(count, priv, floor, _95_PERCENT * math.sqrt(spread / count), _balanced(guesses))


def _balanced(guesses: Sequence[Guess]) -> float | None:
    if len({guess.attribute for guess in guesses}) != 1 or guesses[0].truth is None:
        return None
    classes: dict[str | None, list[float]] = {}
    for guess in guesses:
        classes.setdefault(guess.truth, []).append(guess.score)
    return sum(sum(scores) / len(scores) for scores in classes.values()) / len(classes)
