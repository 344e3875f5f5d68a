"""A model as the Rewriter: the paper's Anonymizer, which writes the whole text anew.

The text comes back in a field of its own, and is refused if it lost much or holds a remark.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from dynaserve.rlaa.llm.protocol import LLM
from dynaserve.rlaa.model_roles.checks import is_refusal, require_writable
from dynaserve.rlaa.model_roles.completeness import require_no_remark, require_whole
from dynaserve.rlaa.model_roles.prompts import disarm, for_rewriter, rearm, repeats_frame
from dynaserve.rlaa.model_roles.replies import read_rewrite, rewrite_schema
from dynaserve.rlaa.model_roles.sampling import Sampling, answered
from dynaserve.rlaa.records import Judgement
from dynaserve.rlaa.roles import RoleError
from dynaserve.rlaa.typed import LINES

_ROOM, _GROWTH = 64, 1.3


class ModelRewriter:
    """Asks a model for the text without some leaks (arXiv 2512.06713, Anonymizer).

    Parameters
    ----------
    llm
        Which model.
    temperature, top_p, retries, seed
        As in `ModelAttacker`.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        temperature: float = 0.5,
        top_p: float = 0.9,
        retries: int = 2,
        seed: int = 0,
    ) -> None:
        self._llm = llm
        self._sampling = Sampling(temperature, top_p, retries, seed)

    def rewrite(self, text: str, actionable: Sequence[Judgement]) -> str:
        """Return the text without these leaks; the text itself if there are none.

        Raises
        ------
        RoleError
            If the model declined, wrote too little or a remark, or was cut short.
        TooLongError, CancelledError, UnavailableError
            As the model raises them.
        """
        if not actionable:
            return text
        messages = for_rewriter(text, [judged.leak for judged in actionable])
        quoted = json.dumps({"text": disarm(text)}, ensure_ascii=False)
        evidence = [span for judged in actionable for span in judged.spans]
        room = _ROOM + round(_GROWTH * answered(lambda: self._llm.count_tokens(quoted)))

        def attempt(number: int) -> str:
            reply = self._sampling.complete(
                self._llm, messages, number, schema=rewrite_schema(), max_tokens=room
            )
            rewritten = rearm(read_rewrite(reply))
            require_writable(rewritten, instead_of=text + LINES)
            if repeats_frame(rewritten, text):
                raise RoleError("a rewrite that repeats the prompt")
            if is_refusal(rewritten) and not is_refusal(text):
                raise RoleError("the model declined")
            require_no_remark(rewritten, text)
            require_whole(rewritten, text, evidence)
            return rewritten

        return self._sampling.tries(attempt)
