"""A model as the Arbitrator: how much each leak is worth.

It sees the text, the evidence and the reasoning. It never sees the guess, which would lead it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Literal

from dynaserve.rlaa.llm.protocol import LLM
from dynaserve.rlaa.model_roles.prompts import for_grades, for_scores
from dynaserve.rlaa.model_roles.replies import grades_schema, read_grades
from dynaserve.rlaa.model_roles.sampling import Sampling, answered
from dynaserve.rlaa.records import Judgement, Leak, Level
from dynaserve.rlaa.roles import RoleError

_SPELLINGS: tuple[Mapping[str, Level], ...] = (
    MappingProxyType({level.value: level for level in Level}),
    MappingProxyType(dict(zip("ABCD", Level, strict=True))),
)
"""How the grades may be spelt, best first: the first tokens must differ, whatever the tokenizer."""
_ROOM, _TOKENS_PER_GRADE = 32, 112


class ModelArbitrator:
    """Asks a model to grade leaks (arXiv 2512.06713, Arbitrator).

    Parameters
    ----------
    llm
        Which model.
    method
        ``score`` reads the probabilities of the four grades, one leak at a time: a small model
        can do it, and the validity of a leak is a probability. ``generate`` lets it write all
        grades with reasons. A model that cannot score is an error, not a reason to generate.
    temperature, top_p, retries, seed
        As in `ModelAttacker`; scores are drawn from nothing.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        method: Literal["score", "generate"] = "score",
        temperature: float = 0.0,
        top_p: float = 0.9,
        retries: int = 2,
        seed: int = 0,
    ) -> None:
        if method not in {"score", "generate"}:
            raise ValueError("method: must be score or generate")
        self._llm = llm
        self._judge = self._score if method == "score" else self._generate
        self._sampling = Sampling(temperature, top_p, retries, seed)

    def judge(self, text: str, leaks: Sequence[Leak]) -> list[Judgement]:
        """Return a judgement for each leak, in order.

        Raises
        ------
        RoleError
            If a leak got no grade.
        TooLongError, CancelledError, UnavailableError
            As the model raises them.
        """
        return self._judge(text, leaks) if leaks else []

    def _score(self, text: str, leaks: Sequence[Leak]) -> list[Judgement]:
        return [_from_scores(leak, self._ask(text, leak)) for leak in leaks]

    def _ask(self, text: str, leak: Leak) -> dict[Level, float]:
        for options in _SPELLINGS:
            with suppress(ValueError):
                return self._ask_with(text, leak, options)
        raise RoleError(
            "the model's tokens do not tell the grades apart; let it write them (grades='generate')"
        )

    def _ask_with(self, text: str, leak: Leak, options: Mapping[str, Level]) -> dict[Level, float]:
        messages = for_scores(text, leak, options)
        scores = answered(lambda: self._llm.score(messages, list(options)))
        if len(scores) != len(options) or not _are_probabilities(scores):
            raise RoleError("scores that are no probabilities")
        return dict(zip(options.values(), scores, strict=True))

    def _generate(self, text: str, leaks: Sequence[Leak]) -> list[Judgement]:
        messages, schema = for_grades(text, leaks), grades_schema(len(leaks))
        room = _ROOM + _TOKENS_PER_GRADE * len(leaks)

        def attempt(number: int) -> list[tuple[Level, str]]:
            reply = self._sampling.complete(
                self._llm, messages, number, schema=schema, max_tokens=room
            )
            return read_grades(reply, len(leaks))

        grades = self._sampling.tries(attempt)
        return [
            Judgement(leak, level, reason, validity=float(level is not Level.INVALID))
            for leak, (level, reason) in zip(leaks, grades, strict=True)
        ]


def _are_probabilities(scores: Sequence[float]) -> bool:
    return all(0 <= score <= 1 for score in scores) and math.isclose(sum(scores), 1, abs_tol=1e-3)


def _from_scores(leak: Leak, scores: Mapping[Level, float]) -> Judgement:
    """First whether the leak is real, then how grave: INVALID has to beat the others together."""
    validity = min(1.0, max(0.0, 1 - scores[Level.INVALID]))
    graver = [level for level in Level if level is not Level.INVALID]
    level = max(graver, key=lambda grade: scores[grade]) if validity >= 0.5 else Level.INVALID
    reason = ", ".join(f"{grade.value} {share:.2f}" for grade, share in scores.items())
    return Judgement(leak, level, reason, validity)
