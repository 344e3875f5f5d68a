"""Direct identifiers, whatever the model overlooks: rules find, grade and replace them.

An email address or a phone number that a model does not mention stays as public as it was. So
beside every model stands the built-in engine, for these alone; what is to be guessed about a
person is left to the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dynaserve.rlaa.embedded import EmbeddedEngine
from dynaserve.rlaa.records import IDENTIFIER, Edit, Judgement, Leak
from dynaserve.rlaa.roles import Arbitrator, Attacker, Editor, RoleError


class GuardedAttacker:
    """Adds the direct identifiers of a text to what an attacker finds."""

    def __init__(self, attacker: Attacker, engine: EmbeddedEngine) -> None:
        self._attacker, self._engine = attacker, engine

    def attack(self, text: str, attributes: Sequence[str]) -> Sequence[Leak]:
        """See `Attacker`; identifiers that the attacker found too are there twice."""
        found = list(self._attacker.attack(text, attributes))
        return [*found, *self._engine.attack(text, ())] if IDENTIFIER in attributes else found


class GuardedArbitrator:
    """Grades direct identifiers by rule: each of them is HIGH, and no model may say otherwise."""

    def __init__(self, arbitrator: Arbitrator, engine: EmbeddedEngine) -> None:
        self._arbitrator, self._engine = arbitrator, engine

    def judge(self, text: str, leaks: Sequence[Leak]) -> Sequence[Judgement]:
        """See `Arbitrator`; it is asked about the leaks that no rule knows, if there are any."""
        known = set(self._engine.attack(text, ()))
        ruled = [leak for leak in leaks if leak in known]
        asked = [leak for leak in leaks if leak not in known]
        answers = list(self._arbitrator.judge(text, asked) if asked else ())
        if len(answers) != len(asked):
            raise RoleError("did not answer with one judgement for each leak")
        grades = dict(zip(asked, answers, strict=True))
        grades |= dict(zip(ruled, self._engine.judge(text, ruled), strict=True))
        return [grades[leak] for leak in leaks]


class GuardedEditor:
    """Replaces direct identifiers by their kind; no model sees what to write instead of them."""

    def __init__(self, editor: Editor, engine: EmbeddedEngine) -> None:
        self._editor, self._engine = editor, engine

    def edit(self, text: str, actionable: Sequence[Judgement]) -> Sequence[Edit]:
        """See `Editor`; a span that holds an identifier beside other evidence is replaced whole."""
        direct = [judged for judged in actionable if judged.leak.attribute == IDENTIFIER]
        taken = {span for judged in direct for span in judged.spans}
        left = [
            replace(judged, spans=tuple(span for span in judged.spans if span not in taken))
            for judged in actionable
            if judged.leak.attribute != IDENTIFIER
        ]
        asked = [judged for judged in left if judged.spans]
        edits = list(self._engine.edit(text, direct))
        return [*edits, *self._editor.edit(text, asked)] if asked else edits
