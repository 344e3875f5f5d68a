"""llama.cpp behind the few verbs that a chat model needs.

The one module that knows llama-cpp-python: importing it imports that, so it is imported late. It
is for one thread at a time and checks nothing that it is given.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import numpy.typing as npt
from llama_cpp.llama import Llama
from llama_cpp.llama_chat_format import Jinja2ChatFormatter
from llama_cpp.llama_grammar import LlamaGrammar

from dynaserve.rlaa.llm.cancellation import is_cancelled
from dynaserve.rlaa.llm.chat import ChatFormat
from dynaserve.rlaa.llm.context import Context
from dynaserve.rlaa.llm.lookup import Lookup
from dynaserve.rlaa.llm.sampler import Sampler

_SEEDS = 2**32 - 1
"""llama.cpp takes the seed 2**32 - 1 for "draw one"."""


# What llama.cpp reports may quote what it was given: it is dropped.
_SILENCE = llama_cpp.llama_log_callback(lambda _level, _text, _data: None)
# So that a cancelled run ends in the midst of a long prompt too, not only between two tokens.
_ABORT = llama_cpp.ggml_abort_callback(lambda _data: is_cancelled())


class Engine:
    """The weights, memory-mapped, and one context.

    Parameters
    ----------
    path
        A GGUF file.
    context
        Tokens.
    threads
        For prompts and for answers.

    Raises
    ------
    ValueError
        If it cannot be loaded, was not trained for that context, or has no chat template.
    """

    def __init__(self, path: Path, context: int, threads: int) -> None:
        llama_cpp.llama_log_set(_SILENCE, None)
        try:
            self._llama: Any = Llama(
                str(path),
                n_ctx=context,
                n_threads=threads,
                n_threads_batch=threads,
                use_mmap=True,
                verbose=False,
            )
        except (ValueError, RuntimeError) as error:
            raise ValueError(
                f"model: {path} cannot be loaded; is it a whole GGUF file, of a kind that "
                f"llama-cpp-python {llama_cpp.__version__} knows, and small enough for the memory?"
            ) from error
        trained = llama_cpp.llama_model_n_ctx_train(self._llama.model)
        if context > trained:
            raise ValueError(f"context: the model was trained for {trained} tokens, got {context}")
        llama_cpp.llama_set_abort_callback(self._llama.ctx, _ABORT, None)
        self._vocabulary = llama_cpp.llama_model_get_vocab(self._llama.model)
        self.context: int = self._llama.n_ctx()
        self.chat = ChatFormat(self._template(), self.tokens)
        self._context = Context(self._llama.ctx)

    def tokens(self, text: str, control: bool = False) -> list[int]:
        """Return a text's tokens; with ``control``, what spells a control token is one."""
        encoded = text.encode("utf-8", "replace")
        found: list[int] = self._llama.tokenize(encoded, add_bos=False, special=control)
        return found

    def text(self, tokens: list[int]) -> str:
        """Return the text of an answer's tokens."""
        encoded: bytes = self._llama.detokenize(tokens)
        return encoded.decode("utf-8", "replace")

    def generate(
        self,
        prompt: list[int],
        *,
        schema: Mapping[str, Any] | None = None,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> Iterator[int]:
        """Yield the answer's tokens, up to the end of the turn.

        What the prompt shares with what was computed last is not computed again. What the answer
        may copy is computed ahead; it is drawn from the same logits as if it had not been.

        Raises
        ------
        RuntimeError
            If the computation was stopped or failed.
        ValueError
            If the schema cannot be made into a grammar.
        """
        sampler = Sampler(
            self._vocabulary,
            temperature=temperature,
            top_p=top_p,
            seed=seed % _SEEDS,
            grammar=None if schema is None else _grammar(json.dumps(schema)),
        )
        try:
            yield from self._answer(prompt, sampler)
        finally:
            sampler.close()

    def _answer(self, prompt: list[int], sampler: Sampler) -> Iterator[int]:
        lookup, said, guessed = Lookup(prompt), list(prompt), list[int]()
        ahead = self._context.goes_back  # else a wrong guess would cost the whole prompt
        self._context.compute(said)
        while True:
            # Rows are counted from the end: that of a token lies before those of the guesses.
            token = sampler.draw(self._context.handle, -1 - len(guessed))
            if llama_cpp.llama_vocab_is_eog(self._vocabulary, token):
                return
            said.append(token)
            lookup.add(token)
            yield token
            if guessed and guessed[0] == token:
                del guessed[0]
                continue
            guessed = lookup.guess()[: self.context - len(said)] if ahead else []
            self._context.compute(said + guessed, asked=1 + len(guessed))

    def logits(self, prompt: list[int]) -> npt.NDArray[np.float32]:
        """Return the logits of what comes next, one for each entry of the vocabulary.

        Raises
        ------
        RuntimeError
            If the computation was stopped or failed.
        """
        self._context.compute(prompt)
        row = llama_cpp.llama_get_logits_ith(self._context.handle, -1)
        return np.ctypeslib.as_array(row, shape=(self._llama.n_vocab(),)).copy()

    def forget(self) -> None:
        """Compute the next prompt from its first token on."""
        self._context.forget()

    def close(self) -> None:
        """Free context and weights."""
        self._context.close()
        self._llama.close()

    def _template(self) -> Any:
        template = self._llama.metadata.get("tokenizer.chat_template")
        if not template:
            raise ValueError("model: it has no chat template; take one tuned for instructions")
        begin, end = (
            self._spelling(self._llama.token_bos()),
            self._spelling(self._llama.token_eos()),
        )
        formatter = Jinja2ChatFormatter(template, bos_token=begin, eos_token=end)
        # Models that think aloud first would spend the room for the answer on it.
        return lambda messages: formatter(messages=messages, enable_thinking=False).prompt

    def _spelling(self, token: int) -> str:
        if token < 0:
            return ""
        spelling: bytes = llama_cpp.llama_vocab_get_text(self._vocabulary, token)
        return spelling.decode("utf-8")


@lru_cache(maxsize=64)
def _grammar(schema: str) -> tuple[str, str]:
    """Return rules and root; never ``response_format``, which ignores what it cannot convert."""
    try:
        grammar = LlamaGrammar.from_json_schema(schema, verbose=False)
    except Exception as error:  # of many kinds, assertions among them
        raise ValueError("schema: no grammar can be made of it") from error
    return grammar._grammar, grammar._root
