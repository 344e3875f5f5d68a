"""Direct identifiers, whatever the model overlooks: rules find, grade and replace them.

An email address or a phone number that a model does not mention stays as public as it was. So
beside every model stands the built-in engine, for these alone; what is to be guessed about a
person is left to the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dynaserve.rlaa.embedded import EmbeddedEngine
from dynaserve.rlaa.records import IDENTIFIER, Edit, Judgement, Leak
from dynaserve.rlaa.roles import Arbitrator, Attacker, Editor, Rewriter, RoleError
from dynaserve.rlaa.spans import apply, find_mentions


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


class GuardedRewriter:
    """Replaces direct identifiers by their kind, and only then shows a text to who rewrites it."""

    def __init__(self, rewriter: Rewriter, engine: EmbeddedEngine) -> None:
        self._rewriter, self._engine = rewriter, engine

    def rewrite(self, text: str, actionable: Sequence[Judgement]) -> str:
        """See `Rewriter`; it is not asked if identifiers are all that is to go.

        What it is shown of the other leaks holds no identifier either; a leak that rests on words
        which went with one is closed without it.
        """
        kinds = self._kinds(text, actionable)
        bare = _labelled(text, kinds)
        left = [
            replace(judged, leak=_without(judged.leak, kinds))
            for judged in actionable
            if judged.leak.attribute != IDENTIFIER
        ]
        asked = [
            replace(judged, spans=spans)
            for judged in left
            if (spans := find_mentions(bare, judged.leak.evidence))
        ]
        return self._rewriter.rewrite(bare, asked) if asked else bare

    def _kinds(self, text: str, actionable: Sequence[Judgement]) -> dict[str, str]:
        """Return identifier -> label, those first that others are part of."""
        leaks = [judged.leak for judged in actionable if judged.leak.attribute == IDENTIFIER]
        judged = [
            replace(each, spans=find_mentions(text, each.leak.evidence))
            for each in self._engine.judge(text, [*self._engine.attack(text, ()), *leaks])
        ]
        edits = self._engine.edit(text, judged)
        return {edit.before: edit.after for edit in sorted(edits, key=lambda e: -len(e.before))}


def _without(leak: Leak, kinds: Mapping[str, str]) -> Leak:
    return replace(
        leak,
        guess=_labelled(leak.guess, kinds),
        evidence=_labelled(leak.evidence, kinds),
        reasoning=_labelled(leak.reasoning, kinds),
    )


def _labelled(words: str, kinds: Mapping[str, str]) -> str:
    for value, label in kinds.items():
        spans = find_mentions(words, value)
        words = apply(words, [Edit(s, words[s.start : s.end], label, IDENTIFIER) for s in spans])
    return words
