"""Roles that do as a test says, and note what they were asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dynaserve.rlaa import Anonymizer, Edit, Judgement, Leak, Level
from dynaserve.rlaa.spans import find_mentions

GENERAL = {
    "31": "thirty-something",
    "nurse": "health worker",
    "Porto": "Portugal",
    "a@example.com": "[EMAIL]",
}
ATTRIBUTE = {"31": "age", "nurse": "occupation", "Porto": "location", "a@example.com": "identifier"}


class Knowing:
    """Finds a few words, grades them and knows what is more general.

    Parameters
    ----------
    levels
        Evidence -> grade; HIGH if missing.
    words
        Evidence -> what to write instead.
    attributes
        Evidence -> attribute.
    """

    def __init__(
        self,
        levels: Mapping[str, Level] | None = None,
        words: Mapping[str, str] = GENERAL,
        attributes: Mapping[str, str] = ATTRIBUTE,
        certainty: int = 5,
    ) -> None:
        self.levels = levels or {}
        self.words, self.attributes, self.certainty = words, attributes, certainty
        self.attacks: list[tuple[str, tuple[str, ...]]] = []
        self.judged: list[tuple[Leak, ...]] = []
        self.edited: list[tuple[Judgement, ...]] = []

    def attack(self, text: str, attributes: Sequence[str]) -> Sequence[Leak]:
        self.attacks.append((text, tuple(attributes)))
        return [
            Leak(attribute, evidence, evidence, self.certainty)
            for evidence, attribute in self.attributes.items()
            if attribute in attributes and find_mentions(text, evidence)
        ]

    def judge(self, _text: str, leaks: Sequence[Leak]) -> Sequence[Judgement]:
        self.judged.append(tuple(leaks))
        return [Judgement(leak, self.levels.get(leak.evidence, Level.HIGH)) for leak in leaks]

    def edit(self, text: str, actionable: Sequence[Judgement]) -> Sequence[Edit]:
        self.edited.append(tuple(actionable))
        wanted = {span: judged for judged in actionable for span in judged.spans}
        return [
            Edit(
                span,
                text[span.start : span.end],
                self.words[judged.leak.evidence],
                judged.leak.attribute,
            )
            for span, judged in wanted.items()
        ]


class Saying:
    """A role of one method that answers with given replies, the last one for ever."""

    def __init__(self, method: str, *replies: Any) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._replies = list(replies)
        setattr(self, method, self._answer)

    def _answer(self, *arguments: Any) -> Any:
        self.calls.append(arguments)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(reply, BaseException):
            raise reply
        return reply(*arguments) if isinstance(reply, Callable) else reply


def anonymizer(roles: Knowing | None = None, **options: Any) -> Anonymizer:
    """Return one whose roles are all played by ``roles``, unless an option says otherwise."""
    roles = roles or Knowing()
    players = {"attacker": roles, "arbitrator": roles, "editor": roles}
    return Anonymizer(**players | options)
