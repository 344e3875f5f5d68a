"""The three roles of the paper as protocols: what the loop asks, whoever answers.

A model answers through ``model_roles``, the built-in engine through ``embedded``. A role that
cannot answer raises `RoleError`; it never answers with less than it was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dynaserve.rlaa.records import Edit, Judgement, Leak


class RoleError(Exception):
    """A role gave no usable answer. The message says why, without words of the text."""


class TooMuchError(RoleError):
    """There was more to say than an answer holds; of a part of the text it may be less."""


class Attacker(Protocol):
    """Guesses attributes of who wrote a text."""

    def attack(self, text: str, attributes: Sequence[str]) -> Sequence[Leak]:
        """Return what the text gives away about these attributes; no leak for what it does not.

        Raises
        ------
        RoleError
            If there is no answer that can be read whole.
        """
        ...


class Arbitrator(Protocol):
    """Grades leaks."""

    def judge(self, text: str, leaks: Sequence[Leak]) -> Sequence[Judgement]:
        """Return a judgement for each leak, in order.

        The loop calls it only with leaks whose evidence stands in the text, and sets ``spans``
        itself.

        Raises
        ------
        RoleError
            If a leak got no grade.
        """
        ...


class Editor(Protocol):
    """Proposes what to write instead: the paper's Anonymizer, one replacement per span."""

    def edit(self, text: str, actionable: Sequence[Judgement]) -> Sequence[Edit]:
        """Return replacements for the spans of these judgements, and for nothing else.

        Raises
        ------
        RoleError
            If a span got no replacement.
        """
        ...


class Rewriter(Protocol):
    """Writes the whole text anew: the paper's Anonymizer as published."""

    def rewrite(self, text: str, actionable: Sequence[Judgement]) -> str:
        """Return the text without these leaks.

        Raises
        ------
        RoleError
            If there is no answer, or one cut short.
        """
        ...
