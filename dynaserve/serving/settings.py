"""What a serving process is told: one value object that survives the trip to worker processes.

BentoML's workers import the service module afresh, so settings travel as ``DYNASERVE_*``
environment variables. No secret is a setting: the noise key has its own way in
(``dynaserve.defenses.keys``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from typing_extensions import Self

from dynaserve.rlaa.records import ATTRIBUTES

PREFIX = "DYNASERVE_"


class SettingsError(ValueError):
    """A setting that cannot be served; the message says which one and what would be right."""


class Settings(BaseModel):
    """Settings that the environment holds, each as ``DYNASERVE_`` and its name."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read ``DYNASERVE_SOURCE``, ``DYNASERVE_DEFENSE``, ...; unset or empty is the default.

        Raises
        ------
        SettingsError
            A variable does not hold what its setting needs.
        """
        environment = os.environ if environment is None else environment
        found = {name: environment.get(variable(name)) for name in cls.model_fields}
        try:
            return cls.model_validate({name: text for name, text in found.items() if text})
        except ValidationError as error:
            problem = error.errors(include_input=False, include_url=False)[0]
            raise SettingsError(f"{variable(str(problem['loc'][0]))}: {problem['msg']}") from None

    def to_environment(self) -> dict[str, str]:
        """Return the variables that ``from_environment`` turns into these settings again.

        A setting of None becomes the empty string, so that it also overrides an inherited
        variable.
        """
        return {variable(name): text_of(value) for name, value in self.model_dump().items()}


class ServeSettings(Settings):
    """How to serve one classifier.

    Attributes
    ----------
    source : str or None
        Model file or BentoML model tag; None is the embedded default.
    defense : str
        ``dynanoise``, ``dynanoise-paper``, ``rank-template``, ``none``, or a ``.toml`` file.
    trust_pickle : bool
        Allow model files that run code when they are loaded.
    undefended : bool
        Say a second time that answers should go out without a defense.
    max_rows : int
        Most rows in one request, and in one call of the model.
    max_bytes : int or None
        Most bytes in the body of one request; None is what ``max_rows`` rows of the model need.
    workers : int
        Server processes.

    Examples
    --------
    >>> settings = ServeSettings(source="bentoml-tag:latest", max_rows=64)
    >>> ServeSettings.from_environment(settings.to_environment()) == settings
    True
    """

    source: str | None = None
    defense: str = "dynanoise"
    trust_pickle: bool = False
    undefended: bool = False
    max_rows: int = Field(default=1024, ge=1)
    max_bytes: int | None = Field(default=None, ge=1)
    workers: int = Field(default=1, ge=1)

    def to_environment(self) -> dict[str, str]:
        """Return the variables, with absolute paths: a server changes its working directory."""
        return super().to_environment() | {
            variable("source"): text_of(absolute(self.source)),
            variable("defense"): text_of(absolute(self.defense)),
        }


class SummariesSettings(Settings):
    """How to serve summaries of conversations.

    Attributes
    ----------
    summarizer : str
        ``keyword`` or ``extractive``, where the service does not bring one of its own.
    k_min : int
        Fewest different users behind anything that is published.
    quote_letters : int
        Letters and digits in a row that an answer may not share with the conversations of fewer
        than ``k_min`` users; 32 are about 40 characters, or 8 words, of English.
    max_bytes : int
        Most bytes in the body of one request.
    max_conversations : int
        Most conversations in one request.
    max_characters : int
        Most characters in one text.
    max_values : int
        Most different emails, phones, cards and the like in the texts of one request; the audit
        looks for each.
    max_audits : int
        Most audit reports that are kept.
    audit_seconds : int
        How long one is kept.
    threads : int
        Requests that one worker works on at a time; more wait.
    workers : int
        Server processes.
    """

    summarizer: Literal["keyword", "extractive"] = "keyword"
    k_min: int = Field(default=25, ge=2)
    quote_letters: int = Field(default=32, ge=12)
    max_bytes: int = Field(default=8 * 2**20, ge=1)
    max_conversations: int = Field(default=10_000, ge=1)
    max_characters: int = Field(default=20_000, ge=1)
    max_values: int = Field(default=20_000, ge=1)
    max_audits: int = Field(default=1000, ge=1)
    audit_seconds: int = Field(default=24 * 3600, ge=1)
    threads: int = Field(default=2, ge=1)
    workers: int = Field(default=1, ge=1)


def attribute_names(value: object) -> object:
    """Return the names in a list with commas, as a variable or an option holds it."""
    if not isinstance(value, str):
        return value
    names = tuple(name for part in value.split(",") if (name := part.strip()))
    if not names or {*names} - {*ATTRIBUTES}:
        raise ValueError(f"name some of {', '.join(ATTRIBUTES)}")
    return names


class AnonymizationSettings(Settings):
    """How texts are anonymized.

    Attributes
    ----------
    model : str or None
        GGUF file, ``org/repo:file`` of the hub, or with ``server`` the model's name there. None
        is the built-in engine.
    server : str or None
        Base URL of an OpenAI-compatible server, such as ``http://127.0.0.1:8080/v1``.
    context : int
        Tokens that a prompt and its answer may have together.
    allow_remote : bool
        Allow a server on a public address: it gets every text as it is.
    mode : str
        ``edit`` replaces words; ``rewrite`` has a model write the text anew.
    attributes : tuple of str or None
        What must not be inferred; identifiers never may. None is all eight.
    actionable : str
        ``high+med`` or ``high``: the grades that are acted on.
    max_mrs : float or None
        λ: the most utility that a unit of privacy may cost. None is the anonymizer's own.
    max_rounds : int
        Of the loop.
    grades : str
        How a model grades leaks: ``score`` by the probabilities of the four grades, ``generate``
        by writing them, where its probabilities cannot be had.
    attack_tokens : int
        Room for a model's reply as attacker, of ``context``.
    consistent : str or None
        File of the secret key with which the same value gets the same replacement in all texts.
    seed : int
        Of a model's sampling.
    """

    model: str | None = None
    server: str | None = None
    context: int = Field(default=4096, ge=512)
    allow_remote: bool = False
    mode: Literal["edit", "rewrite"] = "edit"
    attributes: Annotated[tuple[str, ...] | None, BeforeValidator(attribute_names)] = None
    actionable: Literal["high", "high+med"] = "high+med"
    max_mrs: float | None = Field(default=None, ge=0)
    max_rounds: int = Field(default=3, ge=1)
    grades: Literal["score", "generate"] = "score"
    attack_tokens: int = Field(default=1024, ge=1)
    consistent: str | None = None
    seed: int = 0

    @property
    def needs_model(self) -> bool:
        """Whether a language model answers, rather than the built-in engine."""
        return self.model is not None or self.server is not None

    def to_environment(self) -> dict[str, str]:
        """Return the variables, with absolute paths: a server changes its working directory."""
        return super().to_environment() | {
            variable("model"): text_of(absolute(self.model)),
            variable("consistent"): text_of(absolute(self.consistent)),
        }


class AnonymizerSettings(AnonymizationSettings):
    """How to serve the anonymizer.

    Attributes
    ----------
    max_bytes : int
        Most bytes in the body of one request.
    max_characters : int
        Most characters in one text.
    max_items : int
        Most texts in one batch.
    max_pending : int
        Most requests that one worker has at a time, the one it works on included; more get 429.
    seconds : float
        Until a request that is not answered gets 504, and its model is stopped.
    workers : int
        Server processes, each with a model of its own.
    """

    max_bytes: int = Field(default=512 * 1024, ge=1)
    max_characters: int = Field(default=50_000, ge=1)
    max_items: int = Field(default=100, ge=1)
    max_pending: int = Field(default=32, ge=1)
    seconds: float = Field(default=300, gt=0)
    workers: int = Field(default=1, ge=1)


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


def absolute(name: str | None) -> str | None:
    """Return a file's absolute path; anything that is not a file here stays as it is."""
    return str(Path(name).resolve()) if name and Path(name).exists() else name


def text_of(value: object) -> str:
    """Return a setting as the text of an environment variable."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ",".join(value)
    return str(int(value)) if isinstance(value, bool) else str(value)
