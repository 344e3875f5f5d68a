"""A model behind an OpenAI-compatible server of one's own: llama-server, vLLM, Ollama.

It speaks the protocol; where texts may go is `private_server`'s business.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dynaserve.extras import needing
from dynaserve.rlaa.llm.protocol import (
    Completion,
    LLMError,
    Message,
    TooLongError,
    UnavailableError,
)

_PER_TURN = 16
"""Tokens that a chat format may put around a message; the known ones take 4 to 10."""
_ABOUT_THE_REQUEST = {400, 413, 422}
"""Statuses that say something of what was sent; all others are about the server."""
_LISTED = 20
"""As many of the likeliest tokens as the servers list."""


class OpenAICompatibleLLM:
    """A chat model behind ``POST {base_url}/chat/completions``.

    Parameters
    ----------
    base_url
        Such as ``http://127.0.0.1:8080/v1``; without a path, ``/v1`` is meant.
    model
        By the server's name for it.
    allow_remote
        Let texts leave for a public address, by https.
    context
        How many tokens a prompt and its answer may have together. Give what the server was
        started with: some servers cut a longer prompt without a word.
    api_key
        Sent as a bearer token.
    timeout
        Seconds for an answer, all of it.

    Raises
    ------
    ValueError
        If the address is none, or public and not allowed, with the reason.
    LLMError
        If there is no such host.
    ImportError
        Naming the extra, without httpx.

    Examples
    --------
    >>> llm = OpenAICompatibleLLM("http://127.0.0.1:8080", "qwen2.5-7b-instruct")
    >>> llm
    OpenAICompatibleLLM('http://127.0.0.1:8080/v1/', 'qwen2.5-7b-instruct')
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        allow_remote: bool = False,
        context: int = 4096,
        api_key: str | None = None,
        timeout: float = 300.0,
    ) -> None:
        if context < 1 or not timeout > 0:
            raise ValueError("context, timeout: must be above 0")
        with needing("asking a server needs httpx", extra="anonymize"):
            from dynaserve.rlaa.llm.private_server import PrivateServer  # noqa: PLC0415 - optional
        self._server = PrivateServer(
            base_url, allow_remote=allow_remote, api_key=api_key, timeout=timeout
        )
        self._model, self._context = model, context
        self._counts = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._server)!r}, {self._model!r})"

    @property
    def context(self) -> int:
        """How many tokens a prompt and its answer may have together."""
        return self._context

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has, by the server; if it cannot tell, its bytes.

        No tokenizer in use makes more tokens of a text than it has bytes.

        Raises
        ------
        CancelledError, LLMError
            As `complete` does.
        """
        if self._counts:
            # llama-server reads "content", vLLM reads "prompt".
            request = {"model": self._model, "content": text, "prompt": text}
            _, answer = self._server.post("../tokenize", request)
            if isinstance(tokens := answer.get("tokens"), list):
                return len(tokens)
            self._counts = False
        return _bytes(text)

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
            As soon as the run is cancelled; the connection is closed, which stops the server.
        UnavailableError
            If the server does not answer, or with a status that is not about the request.
        LLMError
            If it does not answer what it should.
        ValueError
            If ``max_tokens`` is below 1: some servers take that for no limit.
        """
        if max_tokens < 1:
            raise ValueError(f"max_tokens: must be 1 or more, got {max_tokens}")
        request: dict[str, Any] = {
            "temperature": temperature,
            "top_p": top_p,
            "max_tokens": max_tokens,
            "seed": seed,
        }
        if schema is not None:
            described = {"name": "answer", "strict": True, "schema": schema}
            request["response_format"] = {"type": "json_schema", "json_schema": described}
        choice = self._choice(messages, request)
        message = choice.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, str):
            raise LLMError("an answer without text")
        return Completion(content, finished=choice.get("finish_reason") == "stop")

    def score(self, messages: Sequence[Message], options: Sequence[str]) -> list[float]:
        """Return the probability of each option as the answer's beginning; see `LLM.score`.

        Servers list the likeliest tokens only: an option that none of them begins counts as 0.

        Raises
        ------
        ValueError
            If there is no option, or two begin with the same listed token.
        TooLongError, CancelledError, LLMError
            As `complete` does; also if the server lists no tokens, or none that begins an option.
        """
        request = {"temperature": 0.0, "max_tokens": 1, "logprobs": True, "top_logprobs": _LISTED}
        choice = self._choice(messages, request)
        try:
            listed = choice["logprobs"]["content"][0]["top_logprobs"]
            likely = [(entry["token"].strip(), math.exp(entry["logprob"])) for entry in listed]
        except (AttributeError, KeyError, IndexError, TypeError, OverflowError):
            raise LLMError(
                "the server lists no probabilities (top_logprobs); let the model write its grades "
                "(grades='generate')"
            ) from None
        return self._shares(likely, options)

    def _shares(self, likely: list[tuple[str, float]], options: Sequence[str]) -> list[float]:
        begun = [
            [option for option in options if token and option.startswith(token)]
            for token, _ in likely
        ]
        if not options or any(len(several) > 1 for several in begun):
            raise ValueError("options: none, or two that begin with the same token")
        masses = [
            sum(share for (_, share), found in zip(likely, begun, strict=True) if option in found)
            for option in options
        ]
        if not (total := sum(masses)) > 0:
            raise LLMError("no listed token begins an option")
        return [mass / total for mass in masses]

    def _choice(self, messages: Sequence[Message], request: dict[str, Any]) -> dict[str, Any]:
        self._require_room(messages, request["max_tokens"])
        turns = [{"role": message.role, "content": message.content} for message in messages]
        status, answer = self._server.post(
            "chat/completions", {"model": self._model, "messages": turns} | request
        )
        if status != 200:
            kind = LLMError if status in _ABOUT_THE_REQUEST else UnavailableError
            raise kind(f"the model's server answered {status}")
        choices = answer.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise LLMError("an answer without choices")
        return choices[0]

    def _require_room(self, messages: Sequence[Message], room: int) -> None:
        """Count by the server only what might not fit by its bytes."""
        room += _PER_TURN * (len(messages) + 1)
        texts = [message.content for message in messages]
        if room + sum(map(_bytes, texts)) > self._context:
            tokens = room + sum(map(self.count_tokens, texts))
            if tokens > self._context:
                raise TooLongError(tokens, self._context)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
