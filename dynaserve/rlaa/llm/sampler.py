"""Which token comes next: drawn from what the model computed, within a grammar.

The grammar is asked about the one token that was drawn. Only if it refuses that one is the whole
vocabulary put before it, which takes longer than a small model takes to compute a token.
"""

from __future__ import annotations

import ctypes
from typing import Any

import llama_cpp
import numpy as np

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""`llama_cpp.llama_token_data`."""


class Sampler:
    """Draws the tokens of one answer.

    Parameters
    ----------
    vocabulary
        llama.cpp's handle of it.
    temperature, top_p
        0 takes the likeliest token; else nucleus sampling (Holtzman et al., 2020).
    seed
        Of the draws.
    grammar
        Rules and name of the root, in llama.cpp's GBNF; None allows everything.

    Raises
    ------
    ValueError
        If llama.cpp cannot read the grammar.
    """

    def __init__(
        self,
        vocabulary: Any,
        *,
        temperature: float,
        top_p: float,
        seed: int,
        grammar: tuple[str, str] | None,
    ) -> None:
        self._grammar = None
        if grammar is not None:
            rules, root = (part.encode() for part in grammar)
            self._grammar = llama_cpp.llama_sampler_init_grammar(vocabulary, rules, root)
            if not self._grammar:  # drawing by it would be a crash
                raise ValueError("schema: llama.cpp cannot read the grammar made of it")
        self._chain = _chain(temperature, top_p, seed)
        self._size = llama_cpp.llama_vocab_n_tokens(vocabulary)

    def draw(self, context: Any, row: int = -1) -> int:
        """Return a token from the logits of that row of the last batch.

        Raises
        ------
        RuntimeError
            If the grammar allows no token.
        """
        token: int = llama_cpp.llama_sampler_sample(self._chain, context, row)
        if self._grammar is None:
            return token
        if not self._allows(token):
            token = self._draw_within(context, row)
        llama_cpp.llama_sampler_accept(self._grammar, token)
        return token

    def close(self) -> None:
        """Free it."""
        llama_cpp.llama_sampler_free(self._chain)
        if self._grammar is not None:
            llama_cpp.llama_sampler_free(self._grammar)

    def _allows(self, token: int) -> bool:
        candidates = np.array([(token, 1.0, 0.0)], dtype=_CANDIDATE)
        llama_cpp.llama_sampler_apply(self._grammar, ctypes.byref(_listed(candidates)))
        return bool(np.isfinite(candidates["logit"][0]))

    def _draw_within(self, context: Any, row: int) -> int:
        logits = llama_cpp.llama_get_logits_ith(context, row)
        candidates = np.zeros(self._size, dtype=_CANDIDATE)
        candidates["id"] = np.arange(self._size)
        candidates["logit"] = np.ctypeslib.as_array(logits, shape=(self._size,))
        listed = _listed(candidates)
        llama_cpp.llama_sampler_apply(self._grammar, ctypes.byref(listed))
        if not np.isfinite(candidates["logit"]).any():
            raise RuntimeError("the grammar allows no token")
        llama_cpp.llama_sampler_apply(self._chain, ctypes.byref(listed))
        return int(listed.data[listed.selected].id)


def _chain(temperature: float, top_p: float, seed: int) -> Any:
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
    stages = (
        [llama_cpp.llama_sampler_init_greedy()]
        if temperature == 0
        else [
            llama_cpp.llama_sampler_init_top_p(top_p, 1),
            llama_cpp.llama_sampler_init_temp(temperature),
            llama_cpp.llama_sampler_init_dist(seed),
        ]
    )
    for stage in stages:
        llama_cpp.llama_sampler_chain_add(chain, stage)
    return chain


def _listed(candidates: np.ndarray[Any, Any]) -> Any:
    data = candidates.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token_data))
    return llama_cpp.llama_token_data_array(data, len(candidates), -1, False)
