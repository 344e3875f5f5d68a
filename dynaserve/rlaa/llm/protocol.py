"""What the roles need of a language model, whichever runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class Message:
    """One turn of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str = field(repr=False)


@dataclass(frozen=True)
class Completion:
    """What a model wrote.

    Attributes
    ----------
    text
        All of it.
    finished
        False if it was cut off by a limit of length: then it is no answer.
    """

    text: str = field(repr=False)
    finished: bool


class LLMError(Exception):
    """The model could not be asked, or did not answer. Says why, without words of a prompt."""


class UnavailableError(LLMError):
    """The model cannot be had now, whatever is asked: a matter of its server, not of a text."""


class TooLongError(LLMError):
    """The prompt and the room for its answer do not fit into the context."""

    def __init__(self, tokens: int, limit: int) -> None:
        super().__init__(f"{tokens} tokens do not fit into a context of {limit}")
        self.tokens, self.limit = tokens, limit


class LLM(Protocol):
    """A chat model. One object may be used by several threads; calls then wait for each other."""

    @property
    def context(self) -> int:
        """How many tokens a prompt and its answer may have together."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has, or an upper bound."""
        ...

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        temperature: float = 0.0,
        top_p: float = 0.9,
        max_tokens: int = 512,
        seed: int = 0,
    ) -> Completion:
        """Return the model's answer.

        Parameters
        ----------
        messages
            The conversation so far. Put what stays the same first: what a prompt shares with
            the one before it is not computed again.
        schema
            JSON schema that the answer keeps to, where the backend can enforce it. Validate the
            answer all the same.
        seed
            Of the sampling: another one gives another answer.

        Raises
        ------
        TooLongError
            Before anything is computed.
        LLMError
            If there is no answer.
        """
        ...

    def score(self, messages: Sequence[Message], options: Sequence[str]) -> list[float]:
        """Return the probability of each option as the answer's beginning; they sum to 1.

        The softmax over the options' first tokens, which must differ.

        Raises
        ------
        ValueError
            If two options begin with the same token.
        LLMError
            If the backend cannot tell, or does not answer.
        """
        ...
