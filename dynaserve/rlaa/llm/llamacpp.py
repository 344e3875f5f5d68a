"""A model that runs in this process, through llama.cpp: nothing leaves the machine.

It owns the lock around the model, and what a caller may rely on: a prompt that fits, an answer
that is whole or says that it is not, an end to a cancelled run. What it is asked and what it
answers is printed nowhere.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import Self

from dynaserve.extras import needing
from dynaserve.rlaa.llm.cancellation import check_cancelled
from dynaserve.rlaa.llm.cores import physical_cores
from dynaserve.rlaa.llm.hub import weights
from dynaserve.rlaa.llm.protocol import Completion, LLMError, Message, TooLongError

if TYPE_CHECKING:
    from dynaserve.rlaa.llm.engine import Engine

_TURN = 0.05
"""Seconds between two looks at whether the run is cancelled, while waiting for the model."""
_CHOICES = ("enum", "anyOf", "oneOf", "type")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
_MOST = 2000
"""From so many repetitions on llama.cpp takes no grammar; from far more it crashes."""


class LlamaCppLLM:
    """A chat model in the GGUF format.

    Every object has a context of its own beside the memory-mapped weights, so make one and share
    it: threads that ask at once wait for each other.

    Parameters
    ----------
    model
        Path of a GGUF file, or ``org/repo:file.gguf`` to download it once (`hub.weights`).
    context
        How many tokens a prompt and its answer may have together.
    threads
        By default one for each physical core that this process may use.
    reuse
        Compute what a prompt shares with the one before it once. Without, an answer depends on
        nothing but what is asked, to the last bit; with it, rounding may decide between two
        tokens that are as good as equal.

    Raises
    ------
    ValueError
        If there is no such model, it cannot be loaded, or it is none that chats.
    LLMError
        If it cannot be downloaded.
    ImportError
        Naming the extra, without llama-cpp-python.

    Examples
    --------
    >>> with LlamaCppLLM("model.gguf") as llm:  # doctest: +SKIP
    ...     llm.complete([Message("user", "Name a colour.")]).text
    'Blue'
    """

    def __init__(
        self,
        model: str | Path,
        *,
        context: int = 4096,
        threads: int | None = None,
        reuse: bool = True,
    ) -> None:
        if context < 1 or (threads is not None and threads < 1):
            raise ValueError("context, threads: must be 1 or more")
        with needing("running a model needs llama-cpp-python", extra="anonymize"):
            from dynaserve.rlaa.llm.engine import Engine  # noqa: PLC0415 - anonymize extra
        self._lock = threading.Lock()
        self._reuse = reuse
        self._engine: Engine | None = Engine(weights(model), context, threads or physical_cores())
        self._context = self._engine.context

    @property
    def context(self) -> int:
        """How many tokens a prompt and its answer may have together."""
        return self._context

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has."""
        with self._alone() as engine:
            return len(engine.tokens(text))

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
        """Return the model's answer; see `LLM.complete`.

        Raises
        ------
        TooLongError
            Before anything is computed.
        CancelledError
            Within a token of the cancellation.
        LLMError
            If llama.cpp fails, or the model is closed.
        ValueError
            If the schema cannot be made into a grammar, or ``max_tokens`` is below 1.
        """
        if max_tokens < 1:
            raise ValueError(f"max_tokens: must be 1 or more, got {max_tokens}")
        _require_grammatical(schema)
        with self._alone() as engine:
            prompt = self._fitting(engine, messages, max_tokens)
            answer: list[int] = []
            for token in engine.generate(
                prompt, schema=schema, temperature=temperature, top_p=top_p, seed=seed
            ):
                check_cancelled()
                answer.append(token)
                if len(answer) == max_tokens:
                    return Completion(engine.text(answer), finished=False)
            return Completion(engine.text(answer), finished=True)

    def score(self, messages: Sequence[Message], options: Sequence[str]) -> list[float]:
        """Return the probability of each option as the answer's beginning; see `LLM.score`.

        Raises
        ------
        ValueError
            If there is no option, or two of them begin with the same token.
        TooLongError, CancelledError, LLMError
            As `complete` does.
        """
        with self._alone() as engine:
            first = [engine.chat.first_token(messages, option) for option in options]
            if not first or len(set(first)) < len(first):
                raise ValueError("options: none, or two that begin with the same token")
            return _softmax(engine.logits(self._fitting(engine, messages, room=1))[first])

    def close(self) -> None:
        """Free the model; who asks it afterwards gets an `LLMError`."""
        with self._lock:
            if self._engine is not None:
                self._engine.close()
                self._engine = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _alone(self) -> Iterator[Engine]:
        """Have the engine to oneself; two computations at once in one context are a crash."""
        check_cancelled()
        while not self._lock.acquire(timeout=_TURN):
            check_cancelled()
        engine = self._engine
        try:
            if engine is None:
                raise LLMError("the model is closed")
            yield engine
        except RuntimeError:
            if engine:
                engine.forget()  # it was left in the midst of something
            check_cancelled()
            raise LLMError("llama.cpp could not compute the answer") from None
        finally:
            self._lock.release()

    def _fitting(self, engine: Engine, messages: Sequence[Message], room: int) -> list[int]:
        prompt = engine.chat.prompt(messages)
        if len(prompt) + room > self._context:
            raise TooLongError(len(prompt) + room, self._context)
        if not self._reuse:
            engine.forget()
        return prompt


def _require_grammatical(schema: object) -> None:
    """Refuse what llama.cpp would print before it refuses it, as the schema is nobody's to see."""
    if isinstance(schema, Mapping):
        if any(schema.get(key) == [] for key in _CHOICES):
            raise ValueError("schema: nothing to choose from")
        counts = (schema.get(key) for key in _COUNTS)
        if any(isinstance(count, int) and count >= _MOST for count in counts):
            raise ValueError(f"schema: lengths must be below {_MOST}")
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            _require_grammatical(part)


def _softmax(logits: np.ndarray[Any, np.dtype[np.float32]]) -> list[float]:
    weights = np.exp(logits.astype(np.float64) - logits.max())
    return [float(share) for share in weights / weights.sum()]
