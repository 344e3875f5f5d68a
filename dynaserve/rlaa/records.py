"""What happens to a text, as plain records: leaks, judgements, edits, rounds, the result.

They are the shared vocabulary of the roles (``roles``), the loop and everything that shows a
result. They hold user text: nothing here prints, logs or stores it, and ``repr`` leaves it out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

ATTRIBUTES = (
    "age", "sex", "location", "birth_place", "education", "occupation", "income", "relationship",
)  # fmt: skip
"""The eight attributes of the paper, by the names that every reply, option and report uses."""

IDENTIFIER = "identifier"
"""A leak that names a person directly: an email address, a phone number, an account."""


class Level(str, Enum):
    """How much a leak matters, by the Arbitrator (arXiv 2512.06713); the gravest comes first."""

    HIGH = "HIGH"
    MED = "MED"
    LOW = "LOW"
    INVALID = "INVALID"

    @property
    def gravity(self) -> int:
        """0 for INVALID, and more for what matters more: a key to sort by."""
        return len(Level) - 1 - list(Level).index(self)


class Status(str, Enum):
    """How a run ended."""

    CLEAN = "clean"
    ANONYMIZED = "anonymized"
    STOPPED_RATIONAL = "stopped_rational"
    BUDGET_EXHAUSTED = "budget_exhausted"
    FAILED = "failed"


@dataclass(frozen=True, order=True)
class Span:
    """Code points ``start`` to ``end`` of a text."""

    start: int
    end: int


@dataclass(frozen=True)
class Leak:
    """What an attacker concludes from a text.

    Attributes
    ----------
    attribute
        One of `ATTRIBUTES`, or `IDENTIFIER`.
    guess
        What the attacker takes the attribute to be. The Arbitrator never sees it.
    evidence
        The words of the text it rests on, as the attacker quotes them.
    certainty
        1 (a guess) to 5 (certain).
    reasoning
        Why, in the attacker's words.
    """

    attribute: str
    guess: str = field(repr=False)
    evidence: str = field(repr=False)
    certainty: int
    reasoning: str = field(default="", repr=False)


@dataclass(frozen=True)
class Judgement:
    """What the Arbitrator makes of one leak.

    Attributes
    ----------
    leak
        Which one.
    level
        Its grade.
    reason
        Why, in a few words; may quote the text.
    validity
        Probability in 0..1 that the leak is real: 1 minus that of INVALID.
    spans
        Where the evidence stands: every mention of it, in order. Empty if it stands nowhere.
    """

    leak: Leak
    level: Level
    reason: str = field(default="", repr=False)
    validity: float = 1.0
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Edit:
    """One replacement.

    Attributes
    ----------
    span
        Code points of the text *before* the round.
    before, after
        What stood there, and what stands there now.
    attribute
        Which leak it answers; empty for a change of a rewrite that touches no evidence.
    """

    span: Span
    before: str = field(repr=False)
    after: str = field(repr=False)
    attribute: str


@dataclass(frozen=True)
class LedgerEntry:
    """What one edit of a round gained and cost.

    Attributes
    ----------
    edit
        Which one.
    mpg, muc, mrs
        Its share of the round's privacy gain and utility cost, and their ratio.
    """

    edit: Edit
    mpg: float
    muc: float
    mrs: float


@dataclass(frozen=True)
class Round:
    """One turn of the loop.

    Attributes
    ----------
    judgements
        The leaks that the attacker found, judged.
    edits
        What was replaced; for a rewrite, the smallest set of replacements that amounts to it.
    text
        The text after the round; equal to the one before where the edits were not kept.
    mpg, muc, mrs
        Marginal privacy gain, marginal utility cost, and their ratio; None in a round that
        edited nothing. ``mrs`` is infinite where something was paid and nothing gained.
    kept
        Whether the edits were kept: the irrational ones of the last round are not.
    ledger
        An entry for each edit.
    """

    judgements: tuple[Judgement, ...]
    edits: tuple[Edit, ...] = ()
    text: str = field(default="", repr=False)
    mpg: float | None = None
    muc: float | None = None
    mrs: float | None = None
    kept: bool = True
    ledger: tuple[LedgerEntry, ...] = ()


@dataclass(frozen=True)
class Result:
    """What came of a text.

    Attributes
    ----------
    status
        How it ended.
    text
        What may be published; None unless `releasable`, so that nobody publishes it by mistake:
        a run that stopped because the next edit costs too much gives out the text before it only
        if no leak that is HIGH is left open in it.
    rounds
        All that happened, in order. It holds earlier versions of the text.
    residual
        Judgements that stay open: what was left because the next edit cost too much, or because
        the rounds ran out.
    reason
        Why it failed or stopped, without words of the text.
    edits
        From the original text to ``text``: spans are those of the original.
    outage
        Whether it failed because the model was not there. It may go well at another time, which
        a run that failed for what is in the text or in a reply hardly will.
    """

    status: Status
    text: str | None = field(repr=False)
    rounds: tuple[Round, ...] = field(default=(), repr=False)
    residual: tuple[Judgement, ...] = ()
    reason: str = ""
    edits: tuple[Edit, ...] = ()
    outage: bool = False

    @property
    def releasable(self) -> bool:
        """Whether the text may be published: only if no leak that is HIGH is left open."""
        if self.status in {Status.CLEAN, Status.ANONYMIZED}:
            return True
        return self.status is Status.STOPPED_RATIONAL and not any(
            judged.level is Level.HIGH for judged in self.residual
        )
