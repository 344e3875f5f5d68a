"""One text on its way through the loop: what is known about it, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from dynaserve.rlaa.alignment import compose
from dynaserve.rlaa.asking import OutageError, RunFailedError, asking
from dynaserve.rlaa.chunks import Chunks
from dynaserve.rlaa.economics import Guesses, attributes_of, ledger, rate
from dynaserve.rlaa.editing import Change
from dynaserve.rlaa.examination import examine, located
from dynaserve.rlaa.llm.cancellation import CancelledError, check_cancelled
from dynaserve.rlaa.llm.protocol import TooLongError
from dynaserve.rlaa.records import IDENTIFIER, Edit, Judgement, Level, Result, Round, Status
from dynaserve.rlaa.roles import Arbitrator, Attacker, TooMuchError
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

    No price is too high for a direct identifier: while one that is HIGH is open, a round is kept
    whatever it costs. Stopping would publish nothing, and a label in its place is no loss.
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
        """Return how it ended; a run that was cancelled failed, however far it came."""
        outage = False
        try:
            result = self._loop()
            check_cancelled()
        except (RunFailedError, CancelledError) as error:
            reason, outage = str(error), isinstance(error, OutageError)
        except TooLongError as error:
            reason = f"a sentence alone is too long: {error}"
        except TooMuchError as error:
            reason = f"a sentence alone is too much: {error}"
        else:
            return result
        return Result(Status.FAILED, None, tuple(self._rounds), reason=reason, outage=outage)

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
            spent += 1
            if turn.kept:
                self._edits = compose(self._original, self._edits, edits)
                version = following
            elif not self._named(version := self._completed(version)):
                return self._stopped(version, turn)

    def _open(self, version: _Version) -> tuple[Judgement, ...]:
        return tuple(j for j in version.judgements if j.spans and j.level in self._grades)

    def _named(self, version: _Version) -> bool:
        return any(
            judged.level is Level.HIGH and judged.leak.attribute == IDENTIFIER
            for judged in self._open(version)
        )

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
        with asking("utility"):
            score = self._utility(self._original, following.text)
            muc = self._score - score
            shares = ledger(
                version.text,
                edits,
                before.judgements,
                gained=gained,
                muc=muc,
                utility=self._utility,
            )
        mrs = rate(muc, mpg)
        kept = mrs <= self._max_mrs or self._named(before)
        self._score = score if kept else self._score
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

    def _stopped(self, version: _Version, turn: Round) -> Result:
        """Return the text before the edits that cost too much, or none if a HIGH leak is open."""
        reason = f"the next edits cost {turn.mrs:.3g} per attribute, more than {self._max_mrs:.3g}"
        result = Result(
            Status.STOPPED_RATIONAL,
            version.text,
            tuple(self._rounds),
            self._open(version),
            reason,
            self._edits,
        )
        if result.releasable:
            return result
        reason += "; what is left open is graded HIGH"
        return replace(result, text=None, edits=(), reason=reason)


def _standing(text: str, following: _Version) -> Iterable[Judgement]:
    return (j for j in located(text, following.judgements) if j.spans)
