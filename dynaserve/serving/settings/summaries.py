"""How to serve summaries of conversations."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dynaserve.serving.settings.base import Settings
from dynaserve.serving.settings.server import LimitSettings, ServiceSettings


class SummariesLimits(LimitSettings):
    """How much one request may bring."""

    max_concurrent: Annotated[
        int,
        Field(ge=1, description="Requests that one worker has at a time; more get 503."),
    ] = 64
    max_bytes: Annotated[int, Field(ge=1, description="Most bytes in the body of one request.")] = (
        8 * 2**20
    )
    max_conversations: Annotated[
        int, Field(ge=1, description="Most conversations in one request.")
    ] = 10_000
    max_characters: Annotated[int, Field(ge=1, description="Most characters in one text.")] = 20_000
    max_values: Annotated[
        int,
        Field(
            ge=1,
            description="Most different emails, phones, cards and the like in the texts of one "
            "request; the audit looks for each.",
        ),
    ] = 20_000
    seconds: Annotated[
        float,
        Field(
            gt=0,
            description="Until a request that is not answered gets 504; what was begun of it is "
            "finished first.",
        ),
    ] = 300


class PublishingSettings(Settings):
    """What is published, and which of its audits are kept."""

    TABLE: ClassVar[str] = "summaries"

    summarizer: Annotated[
        Literal["keyword", "extractive"],
        Field(description="Where the service does not bring one of its own."),
    ] = "keyword"
    k_min: Annotated[
        int,
        Field(ge=2, description="Fewest different users behind anything that is published."),
    ] = 25
    quote_letters: Annotated[
        int,
        Field(
            ge=12,
            description="Letters and digits in a row that an answer may not share with the "
            "conversations of fewer than k_min users; 32 are about 40 characters, or 8 words, of "
            "English.",
        ),
    ] = 32
    max_audits: Annotated[int, Field(ge=1, description="Most audit reports that are kept.")] = 1000
    audit_seconds: Annotated[int, Field(ge=1, description="How long one is kept.")] = 24 * 3600
    threads: Annotated[
        int,
        Field(ge=1, description="Requests that one worker works on at a time; more wait."),
    ] = 2


class SummariesSettings(PublishingSettings, SummariesLimits, ServiceSettings):
    """How to serve summaries of conversations."""
