"""One text on its way through the loop: what is known about it, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from dynaserve.rlaa.alignment import compose
from dynaserve.rlaa.asking import RunFailedError
from dynaserve.rlaa.chunks import Chunks
from dynaserve.rlaa.economics import Guesses, attributes_of, ledger, rate
from dynaserve.rlaa.editing import Change
from dynaserve.rlaa.examination import examine, located
from dynaserve.rlaa.llm.protocol import TooLongError
from dynaserve.rlaa.records import Edit, Judgement, Level, Result, Round, Status
from dynaserve.rlaa.roles import Arbitrator, Attacker
from dynaserve.rlaa.spans import apply


@dataclass(frozen=True)
class _Version:
    """A version of the text and what it gives away.

    Attributes
    ----------
    attacked
        Attributes that were attacked on exactly this text. What is known about the others was
        found in an earlier version, in words that no edit has touched.
    """

    text: str
    judgements: tuple[Judgement, ...]
    attacked: frozenset[str]


class Run:
    """Takes one text through the loop, once.

    What was found actionable stays so wherever its evidence stands, whatever a later attack
    overlooks or an arbitrator grades otherwise: only its going away closes a leak.
    """

    def __init__(
        self,
        text: str,
        *,
        attributes: Sequence[str],
        attacker: Attacker,
        arbitrator: Arbitrator,
        change: Change,
        actionable: Collection[Level],
        max_mrs: float,
        max_rounds: int,
        utility: Callable[[str, str], float],
    ) -> None:
        self._original = text
        self._attributes = tuple(attributes)
        self._attacker, self._arbitrator, self._change = attacker, arbitrator, change
        self._grades, self._utility = actionable, utility
        self._max_mrs, self._max_rounds = max_mrs, max_rounds
        self._chunks = Chunks()
        self._found: list[Judgement] = []
        self._rounds: list[Round] = []
        self._edits: tuple[Edit, ...] = ()
        self._guesses = Guesses()
        self._score = 1.0

    def result(self) -> Result:
        """Return how it ended."""
        try:
            return self._loop()
        except RunFailedError as error:
            reason = str(error)
        except TooLongError as error:
            reason = f"a sentence alone is too long: {error}"
        return Result(Status.FAILED, None, tuple(self._rounds), reason=reason)

    def _loop(self) -> Result:
        version = self._attacked(_Version(self._original, (), frozenset()), self._attributes)
        spent = 0
        while True:
            if not self._open(version):
                version = self._completed(version)
            if not self._open(version):
                return self._done(version)
            if spent == self._max_rounds:
                return self._exhausted(version)
            edits = self._change(version.text, self._open(version), self._chunks)
            following = self._after(version, edits)
            turn, version = self._weighed(version, edits, following)
            self._rounds.append(turn)
            if not turn.kept:
                return self._stopped(self._completed(version))
            self._edits = compose(self._original, self._edits, edits)
            version = following
            spent += 1

    def _open(self, version: _Version) -> tuple[Judgement, ...]:
        return tuple(j for j in version.judgements if j.spans and j.level in self._grades)

    def _attacked(self, version: _Version, attributes: Collection[str]) -> _Version:
        """Return the version with what an attack on these attributes adds to what is known."""
        news = examine(version.text, attributes, self._attacker, self._arbitrator, self._chunks)
        known = located(version.text, (*version.judgements, *news))
        done = _Version(version.text, known, version.attacked | frozenset(attributes))
        self._found += self._open(done)
        return done

    def _completed(self, version: _Version) -> _Version:
        """Return the version with every attribute attacked on exactly its text."""
        missing = [name for name in self._attributes if name not in version.attacked]
        return self._attacked(version, missing) if missing else version

    def _after(self, version: _Version, edits: Sequence[Edit]) -> _Version:
        """Return the next version, with only those attributes attacked whose words changed.

        An attribute whose evidence is untouched gives away what it gave away before; the edits
        added nothing about it, or the attack that completes the last version finds it.
        """
        text = apply(version.text, edits)
        changed = set().union(*attributes_of(edits, version.judgements))
        standing = [j for j in located(text, version.judgements) if j.spans]
        still = {(j.leak.attribute, j.leak.evidence) for j in standing}
        changed |= {
            j.leak.attribute
            for j in version.judgements
            if j.spans and (j.leak.attribute, j.leak.evidence) not in still
        }
        known = [j for j in standing if j.leak.attribute not in changed]
        again = [j for j in located(text, self._found) if j.spans]
        bare = _Version(text, located(text, (*known, *again)), frozenset())
        asked = [name for name in self._attributes if name in changed]
        return self._attacked(bare, asked or self._attributes)

    def _weighed(
        self, version: _Version, edits: tuple[Edit, ...], following: _Version
    ) -> tuple[Round, _Version]:
        """Return the round, and the version before it as it is known now.

        What the attack afterwards finds in words that stood there before was there before: an
        attacker who overlooks something is no privacy, and finding it later no loss.
        """
        before = _Version(
            version.text,
            located(version.text, (*version.judgements, *_standing(version.text, following))),
            version.attacked,
        )
        self._guesses.learn(before.judgements)
        self._guesses.learn_coarser(following.judgements)
        gained = self._guesses.gains(before.judgements, following.judgements)
        mpg = sum(gained.values())
        score = self._utility(self._original, following.text)
        muc = self._score - score
        mrs = rate(muc, mpg)
        kept = mrs <= self._max_mrs
        self._score = score if kept else self._score
        shares = ledger(
            version.text, edits, before.judgements, gained=gained, muc=muc, utility=self._utility
        )
        text = following.text if kept else version.text
        turn = Round(version.judgements, edits, text, mpg, muc, mrs, kept, shares)
        return turn, before

    def _done(self, version: _Version) -> Result:
        self._rounds.append(Round(version.judgements, text=version.text))
        edited = any(turn.edits for turn in self._rounds)
        status = Status.ANONYMIZED if edited else Status.CLEAN
        return Result(status, version.text, tuple(self._rounds), edits=self._edits)

    def _exhausted(self, version: _Version) -> Result:
        self._rounds.append(Round(version.judgements, text=version.text))
        reason = f"leaks are left open after {self._max_rounds} rounds of edits"
        rounds = tuple(self._rounds)
        return Result(Status.BUDGET_EXHAUSTED, None, rounds, self._open(version), reason)

    def _stopped(self, version: _Version) -> Result:
        turn = self._rounds[-1]
        reason = f"the next edits cost {turn.mrs:.3g} per attribute, more than {self._max_mrs:.3g}"
        result = Result(
            Status.STOPPED_RATIONAL,
            version.text,
            tuple(self._rounds),
            self._open(version),
            reason,
            self._edits,
        )
        return result if result.releasable else withheld(result)


def withheld(result: Result) -> Result:
    """Return a result without the text and its edits."""
    return Result(result.status, None, result.rounds, result.residual, result.reason)


def _standing(text: str, following: _Version) -> Iterable[Judgement]:
    return (j for j in located(text, following.judgements) if j.spans)
