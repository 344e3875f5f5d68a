"""Asking a model until it gives an answer that can be read, or giving up.

Giving up is a `RoleError`, never an empty answer. What is no fault of the answer passes through
as it is: a text too long for the context, a run that was cancelled, a model that is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from dynaserve.rlaa.llm.cancellation import CancelledError
from dynaserve.rlaa.llm.protocol import LLM, LLMError, Message, TooLongError, UnavailableError
from dynaserve.rlaa.roles import RoleError, TooMuchError

_Answer = TypeVar("_Answer")
_RETRY_TEMPERATURE = 0.3


@dataclass(frozen=True)
class Sampling:
    """How a role's answers are drawn.

    Attributes
    ----------
    temperature, top_p
        Of the first try. A retry is never greedy: it would say the same again.
    retries
        Further tries after an answer that cannot be read, each with a seed of its own.
    seed
        Of the first try.
    """

    temperature: float
    top_p: float = 0.9
    retries: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise ValueError(f"retries: must be 0 or more, got {self.retries}")
        if not 0 <= self.temperature <= 2:
            raise ValueError(f"temperature: must lie in 0..2, got {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p: must lie in (0, 1], got {self.top_p}")

    def tries(self, attempt: Callable[[int], _Answer]) -> _Answer:
        """Return what the first attempt returns that raises no `RoleError`.

        Parameters
        ----------
        attempt
            Called with 0, 1, ... `retries`.

        Raises
        ------
        RoleError
            If none succeeds, with the reason of the last; a `TooMuchError` if that was one.
        """
        for number in range(self.retries):
            with suppress(RoleError):
                return attempt(number)
        try:
            return attempt(self.retries)
        except RoleError as error:
            fault = str(error)
            kind = TooMuchError if isinstance(error, TooMuchError) else RoleError
        raise kind(f"no usable answer in {self.retries + 1} tries; the last: {fault}")

    def complete(
        self,
        llm: LLM,
        messages: Sequence[Message],
        attempt: int,
        *,
        schema: Mapping[str, Any],
        max_tokens: int,
    ) -> str:
        """Return one whole reply of the model.

        Raises
        ------
        RoleError
            If the model fails.
        TooMuchError
            If the reply is cut short.
        TooLongError, CancelledError, UnavailableError
            As the model raises them.
        """
        temperature = max(self.temperature, _RETRY_TEMPERATURE) if attempt else self.temperature
        completion = answered(
            lambda: llm.complete(
                messages,
                schema=schema,
                temperature=temperature,
                top_p=self.top_p,
                max_tokens=max_tokens,
                seed=self.seed + attempt,
            )
        )
        if completion.finished is not True:
            raise TooMuchError(f"the reply was cut off at {max_tokens} tokens")
        text: object = completion.text
        if not isinstance(text, str):  # a parser of JSON would read bytes, too
            raise RoleError("the model's reply is no text")
        return text


def answered(call: Callable[[], _Answer]) -> _Answer:
    """Return what a call to a model returns, and turn its failure into a `RoleError`.

    Raises
    ------
    TooLongError, CancelledError, UnavailableError
        As the model raises them.
    """
    try:
        return call()
    except (TooLongError, CancelledError, UnavailableError):
        raise
    except LLMError as error:
        fault = str(error)
    raise RoleError(f"the model failed: {fault}")
