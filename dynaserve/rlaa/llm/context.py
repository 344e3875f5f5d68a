"""What a model has read: the tokens whose computation llama.cpp holds, and the next ones.

Prompts that begin alike are computed from where they part.
"""

from __future__ import annotations

from typing import Any

import llama_cpp


class Context:
    """The state of one llama.cpp context.

    Parameters
    ----------
    handle
        Of the context, which stays the caller's to free, after `close`.
    """

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        self._memory = llama_cpp.llama_get_memory(handle)
        self._room = llama_cpp.llama_n_batch(handle)
        self._batch = llama_cpp.llama_batch_init(self._room, 0, 1)
        self._held: list[int] = []
        model = llama_cpp.llama_get_model(handle)
        self.goes_back = not (
            llama_cpp.llama_model_is_recurrent(model) or llama_cpp.llama_model_is_hybrid(model)
        )
        """Whether tokens can be taken back: a recurrent model has one state, that of the end."""

    def compute(self, tokens: list[int], asked: int = 1) -> None:
        """Compute what is not held; then the logits of the last ``asked`` tokens are there.

        These may be no more than fit in one batch.

        Raises
        ------
        RuntimeError
            If the computation was stopped or failed; `forget` then.
        """
        shared = min(_shared(self._held, tokens), len(tokens) - asked)
        if shared < len(self._held):
            shared = self._cut(shared)
        first_asked = len(tokens) - asked
        while shared < len(tokens):
            end = min(shared + self._room, len(tokens))
            if first_asked < end < len(tokens):
                end = first_asked  # logits are kept of the last batch alone
            self._decode(tokens[shared:end], shared, first_asked)
            self._held += tokens[shared:end]
            shared = end

    def forget(self) -> None:
        """Compute the next prompt from its first token on."""
        llama_cpp.llama_memory_clear(self._memory, True)
        self._held.clear()

    def close(self) -> None:
        """Free the batch."""
        llama_cpp.llama_batch_free(self._batch)

    def _cut(self, length: int) -> int:
        """Hold only the first tokens; return how many are left, none if they cannot be had."""
        if llama_cpp.llama_memory_seq_rm(self._memory, 0, length, -1):
            del self._held[length:]
            return length
        self.forget()
        return 0

    def _decode(self, part: list[int], start: int, first_asked: int) -> None:
        batch = self._batch
        batch.n_tokens = len(part)
        for index, token in enumerate(part):
            batch.token[index] = token
            batch.pos[index] = start + index
            batch.n_seq_id[index], batch.seq_id[index][0] = 1, 0
            batch.logits[index] = start + index >= first_asked
        if code := llama_cpp.llama_decode(self.handle, batch):
            raise RuntimeError(f"llama_decode returned {code}")


def _shared(held: list[int], tokens: list[int]) -> int:
    """Return how many tokens two lists begin with alike."""
    count = min(len(held), len(tokens))
    if held[:count] == tokens[:count]:
        return count
    return next(index for index in range(count) if held[index] != tokens[index])
