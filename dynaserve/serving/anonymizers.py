"""The anonymizers that settings describe, made the same way for the command and the service.

Everything heavy is imported here on use; nothing here sees a text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from dynaserve.rlaa.records import Level, Result
from dynaserve.serving.settings import AnonymizationSettings

if TYPE_CHECKING:
    from dynaserve.rlaa.llm.protocol import LLM
    from dynaserve.rlaa.pseudonyms import Pseudonyms

API_KEY = "DYNASERVE_API_KEY"
"""Variable with the bearer token of a server; a secret is no setting."""

ACTIONABLE = {
    "high": frozenset({Level.HIGH}),
    "high+med": frozenset({Level.HIGH, Level.MED}),
}


class Runs(Protocol):
    """What anonymizes a text: `dynaserve.rlaa.Anonymizer`, or something in its place."""

    def run(self, text: str, *, attributes: Sequence[str] | None = None) -> Result:
        """Return what came of a text."""
        ...


def make_anonymizers(settings: AnonymizationSettings) -> Mapping[str, Runs]:
    """Return an anonymizer for each mode that there can be one for; they share one model.

    Raises
    ------
    ValueError, OSError, ImportError
        In words for whoever chose the settings.
    """
    from dynaserve.rlaa import Anonymizer  # noqa: PLC0415 - libraries

    require_possible(settings)
    options = options_of(settings)
    if not settings.needs_model:
        return {"edit": Anonymizer.embedded(**options)}
    llm = open_model(settings)
    modes: tuple[Literal["edit", "rewrite"], ...] = ("edit", "rewrite")
    if settings.consistent is not None:
        modes = ("edit",)
    return {mode: Anonymizer(llm, mode=mode, **options) for mode in modes}


def prepare(settings: AnonymizationSettings) -> None:
    """Find out what can be wrong without loading a model, and download it if it has to be.

    Raises
    ------
    ValueError, OSError, ImportError
        As `make_anonymizers`.
    """
    from dynaserve.rlaa.llm.hub import weights  # noqa: PLC0415

    require_possible(settings)
    if settings.server is not None or settings.model is None:
        make_anonymizers(settings)
        return
    options_of(settings)
    with said_plainly():
        weights(settings.model)


def require_possible(settings: AnonymizationSettings) -> None:
    """Refuse settings that contradict each other."""
    if settings.mode == "rewrite" and not settings.needs_model:
        raise ValueError("mode rewrite needs a model: name a GGUF file, or a server")
    if settings.grades == "generate" and not settings.needs_model:
        raise ValueError("grades generate needs a model: name a GGUF file, or a server")
    if settings.needs_model and settings.attack_tokens >= settings.context:
        raise ValueError(
            f"attack_tokens: {settings.attack_tokens} tokens for an attacker's reply leave no room "
            f"for a text in a context of {settings.context}"
        )
    if settings.mode == "rewrite" and settings.consistent is not None:
        raise ValueError("replacements are consistent in mode edit only: rewrite writes freely")
    if settings.server is not None and settings.model is None:
        raise ValueError("a server needs the name of its model too, in model")
    if settings.allow_remote and settings.server is None:
        raise ValueError("allow_remote is about a server; name one, or leave it out")


def options_of(settings: AnonymizationSettings) -> dict[str, Any]:
    """Return what the settings say to any anonymizer; what they leave open is left out."""
    options: dict[str, Any] = {
        "actionable": ACTIONABLE[settings.actionable],
        "max_rounds": settings.max_rounds,
        "grades": settings.grades,
        "attack_tokens": settings.attack_tokens,
        "seed": settings.seed,
    }
    if settings.attributes is not None:
        options["attributes"] = settings.attributes
    if settings.max_mrs is not None:
        options["max_mrs"] = settings.max_mrs
    if settings.consistent is not None:
        options["pseudonyms"] = pseudonyms_of(Path(settings.consistent))
    return options


def open_model(settings: AnonymizationSettings) -> LLM:
    """Load the model, or address its server."""
    from dynaserve.rlaa.llm import LlamaCppLLM, OpenAICompatibleLLM  # noqa: PLC0415

    if settings.model is None:
        raise ValueError("no model is named")
    with said_plainly():
        if settings.server is None:
            return LlamaCppLLM(settings.model, context=settings.context)
        return OpenAICompatibleLLM(
            settings.server,
            settings.model,
            allow_remote=settings.allow_remote,
            context=settings.context,
            api_key=os.environ.get(API_KEY),
        )


@contextmanager
def said_plainly() -> Iterator[None]:
    """Turn what a backend says of a model that is not to be had into what callers expect."""
    from dynaserve.rlaa.llm.protocol import LLMError  # noqa: PLC0415

    try:
        yield
    except LLMError as error:
        raise OSError(f"model: {error}") from None


def pseudonyms_of(path: Path) -> Pseudonyms:
    """Return the table beside a key file, which is made if it is not there."""
    from dynaserve.rlaa.pseudonyms import Pseudonyms  # noqa: PLC0415 - libraries

    return Pseudonyms.from_file(path)
