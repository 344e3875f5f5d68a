"""Attackers that already exist elsewhere, put before anonymized texts.

None of them is told a truth. Which of them plays in an anonymizer's own loop is for the
contenders to say.
"""

from __future__ import annotations

from dynaserve.rlaa.evaluation.data import Record
from dynaserve.rlaa.records import ATTRIBUTES
from dynaserve.rlaa.roles import Attacker
from dynaserve.rlaa.spans import find_mentions


class Asked:
    """An attacker of the loop, asked about one attribute at a time.

    Parameters
    ----------
    name
        What tables call it.
    attacker
        The embedded engine, or a model.
    """

    attributes = ATTRIBUTES

    def __init__(self, name: str, attacker: Attacker) -> None:
        self.name = name
        self._attacker = attacker
        self._guessed: dict[tuple[str, str], str | None] = {}

    def guess(self, record: Record, text: str) -> str | None:
        """Return the guess that it is surest of; of equally sure ones the first.

        It is asked once about texts that are equal: most anonymizers leave some as they are.
        """
        question = (record.attribute, text)
        if question not in self._guessed:
            leaks = [
                leak
                for leak in self._attacker.attack(text, (record.attribute,))
                if leak.attribute == record.attribute
            ]
            surest = max(leaks, key=lambda leak: leak.certainty, default=None)
            self._guessed[question] = None if surest is None else surest.guess
        return self._guessed[question]


class Recorded:
    """What a large model concluded from the undefended text, for as long as its reasons stand.

    It is not asked anew: once all words that it rested its conclusion on are gone from the text,
    it has no guess. A conclusion that rests on no words of the text never goes.
    """

    name = "recorded"
    attributes = ATTRIBUTES

    def __init__(self) -> None:
        self._known: dict[int, list[str]] = {}

    def guess(self, record: Record, text: str) -> str | None:
        """Return its first guess, or None."""
        reasons = self._reasons(record)
        if reasons and not any(find_mentions(text, words) for words in reasons):
            return None
        return record.reply.guesses[0]

    def _reasons(self, record: Record) -> list[str]:
        """Return the words of the undefended text that it rests on, searched for once a record."""
        if record.number not in self._known:
            quoted = (leak.evidence for leak in record.reply.leaks(record.text))
            self._known[record.number] = [w for w in quoted if find_mentions(record.text, w)]
        return self._known[record.number]
