"""How texts are anonymized, and how the anonymizer is served."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from dynaserve.rlaa.records import ATTRIBUTES
from dynaserve.serving.settings.base import A_FILE, Settings
from dynaserve.serving.settings.server import LimitSettings, ServiceSettings


def attribute_names(value: object) -> object:
    """Return the names in a list with commas, as a variable or an option holds it."""
    if value is None:
        return None
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"name some of {', '.join(ATTRIBUTES)}")
    names = tuple(name for part in parts if (name := part.strip()))
    if not names or {*names} - {*ATTRIBUTES}:
        raise ValueError(f"name some of {', '.join(ATTRIBUTES)}")
    return names


class AnonymizationSettings(Settings):
    """How texts are anonymized."""

    TABLE: ClassVar[str] = "anonymizer"

    model: Annotated[
        str | None,
        A_FILE,
        Field(
            description="GGUF file, org/repo:file of the hub, or with a server the model's name "
            "there. Without it: the built-in engine."
        ),
    ] = None
    server: Annotated[
        str | None,
        Field(
            description="Base URL of an OpenAI-compatible server, such as http://127.0.0.1:8080/v1."
        ),
    ] = None
    context: Annotated[
        int, Field(ge=512, description="Tokens that a prompt and its answer may have together.")
    ] = 4096
    allow_remote: Annotated[
        bool,
        Field(description="Allow a server on a public address: it gets every text as it is."),
    ] = False
    mode: Annotated[
        Literal["edit", "rewrite"],
        Field(description="edit replaces words; rewrite has a model write the text anew."),
    ] = "edit"
    attributes: Annotated[
        tuple[str, ...] | None,
        BeforeValidator(attribute_names),
        Field(
            description="What must not be inferred, with commas; identifiers never may. Without "
            "it: all eight."
        ),
    ] = None
    actionable: Annotated[
        Literal["high", "high+med"], Field(description="The grades that are acted on.")
    ] = "high+med"
    max_mrs: Annotated[
        float | None,
        Field(
            ge=0,
            description="λ: the most utility that a unit of privacy may cost. Without it: the "
            "anonymizer's own.",
        ),
    ] = None
    max_rounds: Annotated[int, Field(ge=1, description="Most rounds of the loop.")] = 3
    grades: Annotated[
        Literal["score", "generate"],
        Field(
            description="How a model grades leaks: score by the probabilities of the four grades, "
            "generate by writing them, where its probabilities cannot be had."
        ),
    ] = "score"
    attack_tokens: Annotated[
        int,
        Field(ge=1, description="Room for a model's reply as attacker, of the context."),
    ] = 1024
    consistent: Annotated[
        str | None,
        A_FILE,
        Field(
            description="File of the secret key with which the same value gets the same "
            "replacement in all texts."
        ),
    ] = None
    seed: Annotated[int, Field(description="Seed of a model's sampling.")] = 0

    @property
    def needs_model(self) -> bool:
        """Whether a language model answers, rather than the built-in engine."""
        return self.model is not None or self.server is not None


class AnonymizerLimits(LimitSettings):
    """How much one request may bring."""

    max_bytes: Annotated[int, Field(ge=1, description="Most bytes in the body of one request.")] = (
        512 * 1024
    )
    max_characters: Annotated[int, Field(ge=1, description="Most characters in one text.")] = 50_000
    max_items: Annotated[int, Field(ge=1, description="Most texts in one batch.")] = 100
    max_pending: Annotated[
        int,
        Field(
            ge=1,
            description="Most requests that one worker has at a time, the one it works on "
            "included; more get 429.",
        ),
    ] = 32
    seconds: Annotated[
        float,
        Field(
            gt=0,
            description="Until a request that is not answered gets 504, and its model is stopped.",
        ),
    ] = 300


class AnonymizerSettings(AnonymizationSettings, AnonymizerLimits, ServiceSettings):
    """How to serve the anonymizer; each worker has a model of its own."""
