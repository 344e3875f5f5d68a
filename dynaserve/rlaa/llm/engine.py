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

        What the prompt shares with what was computed last is not computed again.

        Raises
        ------
        RuntimeError
            If the computation was stopped or failed.
        """
        self._llama.set_seed(seed % _SEEDS)
        for token in self._llama.generate(
            prompt,
            temp=temperature,
            top_p=top_p,
            top_k=0,
            min_p=0.0,
            grammar=None if schema is None else self._grammar(json.dumps(schema)),
        ):
            if llama_cpp.llama_vocab_is_eog(self._vocabulary, token):
                return
            yield token

    def logits(self, prompt: list[int]) -> npt.NDArray[np.float32]:
        """Return the logits of what comes next, one for each entry of the vocabulary.

        Raises
        ------
        RuntimeError
            If the computation was stopped or failed.
        """
        next(self._llama.generate(prompt, temp=0.0))
        row = llama_cpp.llama_get_logits_ith(self._llama.ctx, -1)
        return np.ctypeslib.as_array(row, shape=(self._llama.n_vocab(),)).copy()

    def forget(self) -> None:
        """Compute the next prompt from its first token on."""
        self._llama.reset()

    def close(self) -> None:
        """Free context and weights."""
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

    def _grammar(self, schema: str) -> LlamaGrammar:
        """Never by ``response_format``, which ignores a schema that it cannot convert."""
        grammar = _converted(schema)
        rules, root = grammar._grammar.encode(), grammar._root.encode()
        sampler = llama_cpp.llama_sampler_init_grammar(self._vocabulary, rules, root)
        if not sampler:  # generating by it would be a crash
            raise ValueError("schema: llama.cpp cannot read the grammar made of it")
        llama_cpp.llama_sampler_free(sampler)
        return grammar


@lru_cache(maxsize=64)
def _converted(schema: str) -> LlamaGrammar:
    try:
        return LlamaGrammar.from_json_schema(schema, verbose=False)
    except Exception as error:  # of many kinds, assertions among them
        raise ValueError("schema: no grammar can be made of it") from error
