"""What an answer may say next, if it goes on as the same words did before.

Saxena, "Prompt Lookup Decoding", 2023. Answers here quote the document and repeat the names of
JSON fields; nothing is lost by a wrong guess but the time to compute it.
"""

from __future__ import annotations

from collections.abc import Iterable

_KNOWN, _GUESSED = 2, 3
"""So many tokens that stood together before promise so many more."""


class Lookup:
    """The tokens of a prompt and its answer, and where they were last together.

    Parameters
    ----------
    tokens
        The first ones.

    Examples
    --------
    >>> Lookup([7, 8, 9, 5, 7, 8]).guess()
    [9, 5, 7]
    """

    def __init__(self, tokens: Iterable[int]) -> None:
        self._tokens: list[int] = []
        self._after: dict[tuple[int, ...], int] = {}
        self._before: int | None = None
        for token in tokens:
            self.add(token)

    def add(self, token: int) -> None:
        """Take in the next token."""
        self._tokens.append(token)
        known = tuple(self._tokens[-_KNOWN:])
        self._before = self._after.get(known)
        self._after[known] = len(self._tokens)

    def guess(self) -> list[int]:
        """Return what followed these last tokens before; empty if they are new."""
        if self._before is None:
            return []
        return self._tokens[self._before : self._before + _GUESSED]
