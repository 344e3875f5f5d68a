"""A model that says what it was told to say: for tests, demonstrations and recorded runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dynaserve.rlaa.llm.cancellation import check_cancelled
from dynaserve.rlaa.llm.protocol import Completion, LLMError, Message, TooLongError


@dataclass(frozen=True)
class Request:
    """What a `ScriptedLLM` was asked; the options of `score`, or what `complete` was given."""

    messages: tuple[Message, ...]
    options: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    temperature: float = 0.0
    top_p: float = 0.9
    max_tokens: int = 0
    seed: int = 0


Reply = str | Completion | BaseException | Callable[[Request], "str | Completion"]
Scores = Sequence[float] | BaseException | Callable[[Request], Sequence[float]]


class ScriptedLLM:
    """Play replies in order, whatever is asked.

    Parameters
    ----------
    replies
        What `complete` returns, one after the other: a text (a finished answer), a `Completion`,
        an exception to raise, or a function of the `Request` that returns one of the first two.
    scores
        The same for `score`: probabilities in the order of its options.
    context
        How many tokens fit. A token is a word here: what stands between blanks.

    Attributes
    ----------
    requests
        All that was asked, in order, also what got an exception.

    Examples
    --------
    >>> llm = ScriptedLLM(["yes"], scores=[[0.9, 0.1]])
    >>> llm.complete([Message("user", "Is it?")]).text
    'yes'
    >>> llm.score([Message("user", "Is it?")], ["yes", "no"])
    [0.9, 0.1]
    >>> llm.calls
    2
    """

    def __init__(
        self,
        replies: Iterable[Reply] = (),
        *,
        scores: Iterable[Scores] = (),
        context: int = 4096,
    ) -> None:
        self._replies, self._scores = iter(replies), iter(scores)
        self._context = context
        self._lock = threading.Lock()
        self.requests: list[Request] = []

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.requests)

    @property
    def context(self) -> int:
        """How many words a prompt and its answer may have together."""
        return self._context

    def count_tokens(self, text: str) -> int:
        """Return how many words a text has."""
        return len(text.split())

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
        """Return the next reply.

        Raises
        ------
        LLMError
            If the replies have run out, or the run is cancelled.
        TooLongError
            If the words do not fit into the context.
        """
        request = Request(tuple(messages), (), schema, temperature, top_p, max_tokens, seed)
        reply = self._next(self._replies, request, "replies")
        return reply if isinstance(reply, Completion) else Completion(reply, finished=True)

    def score(self, messages: Sequence[Message], options: Sequence[str]) -> list[float]:
        """Return the next probabilities.

        Raises
        ------
        LLMError
            If the scores have run out, or the run is cancelled.
        TooLongError
            If the words do not fit into the context.
        """
        request = Request(tuple(messages), tuple(options), max_tokens=1)
        return [float(share) for share in self._next(self._scores, request, "scores")]

    def _next(self, script: Any, request: Request, kind: str) -> Any:
        with self._lock:
            check_cancelled()
            self.requests.append(request)
            words = sum(self.count_tokens(message.content) for message in request.messages)
            if words + request.max_tokens > self._context:
                raise TooLongError(words + request.max_tokens, self._context)
            try:
                reply = next(script)
            except StopIteration:
                raise LLMError(f"the script has run out of {kind}") from None
        if isinstance(reply, BaseException):
            raise reply
        return reply(request) if callable(reply) else reply
