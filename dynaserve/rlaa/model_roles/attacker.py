"""A model as the Attacker: what it concludes about the author of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dynaserve.rlaa.llm.protocol import LLM
from dynaserve.rlaa.model_roles.attributes import canonical_all
from dynaserve.rlaa.model_roles.prompts import for_attacker, rearm
from dynaserve.rlaa.model_roles.replies import attack_schema, read_attack
from dynaserve.rlaa.model_roles.sampling import Sampling
from dynaserve.rlaa.records import Leak


class ModelAttacker:
    """Asks a model for prose and a list of guesses (arXiv 2512.06713, Attacker).

    Parameters
    ----------
    llm
        Which model.
    temperature, top_p
        Of the sampling; the paper's by default.
    retries
        Further tries after a reply that cannot be read, each with a seed of its own.
    seed
        Of the first try.
    max_tokens
        Room for a reply; one that needs more counts as none.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        temperature: float = 0.1,
        top_p: float = 0.9,
        retries: int = 2,
        seed: int = 0,
        max_tokens: int = 1024,
    ) -> None:
        self._llm = llm
        self._sampling = Sampling(temperature, top_p, retries, seed)
        self._max_tokens = max_tokens

    def attack(self, text: str, attributes: Sequence[str]) -> tuple[Leak, ...]:
        """Return what the model reads out of a text about these attributes.

        A leak may quote words that are not in the text: that is for the loop to see.

        Raises
        ------
        RoleError
            If no reply could be read whole.
        TooLongError, CancelledError, UnavailableError
            As the model raises them.
        ValueError
            For an attribute that is none.
        """
        asked = canonical_all(attributes)
        if not asked:
            return ()
        messages, schema = for_attacker(text, asked), attack_schema(asked)

        def attempt(number: int) -> tuple[Leak, ...]:
            reply = self._sampling.complete(
                self._llm, messages, number, schema=schema, max_tokens=self._max_tokens
            )
            return read_attack(reply, asked)

        leaks = self._sampling.tries(attempt)
        return tuple(replace(leak, evidence=rearm(leak.evidence)) for leak in leaks)
