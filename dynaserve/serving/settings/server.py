"""What every service is told: where it listens, who may ask, how much, and who is told of it."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from dynaserve.serving.access.keys import PREFIX
from dynaserve.serving.settings.base import A_FILE, Settings

MAX_PORT = 65535


class ListenSettings(Settings):
    """Where a service listens, and with how many processes."""

    TABLE: ClassVar[str] = "server"

    host: Annotated[str, Field(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Field(ge=1, le=MAX_PORT, description="Port to listen on.")] = 3000
    workers: Annotated[int, Field(ge=1, description="Server processes.")] = 1


class AccessSettings(Settings):
    """Who may ask, and how often."""

    TABLE: ClassVar[str] = "access"

    keys: Annotated[
        str | None,
        A_FILE,
        Field(
            description="File of API keys, which dynaserve keys writes. Without it: api_keys.toml "
            "in the state directory; without that, only this very machine is answered."
        ),
    ] = None
    requests_per_second: Annotated[
        float | None,
        Field(
            ge=0.001,
            le=1_000_000,
            description="Most requests a second of a client whose key has no limit of its own.",
        ),
    ] = None
    rows_per_day: Annotated[
        int | None,
        Field(
            ge=1,
            le=10**12,
            description="Most rows, texts or conversations a day of a client whose key has no "
            "limit of its own.",
        ),
    ] = None
    state: Annotated[
        str | None,
        Field(
            repr=False,  # it may hold a password
            description="Where the counts of clients are: redis://HOST:PORT/DB, which several "
            "machines can share. Without it: a file in the state directory, which the workers of "
            "one machine share.",
        ),
    ] = None

    @field_validator("keys")
    @classmethod
    def _is_no_key(cls, keys: str | None) -> str | None:
        if keys is not None and keys.startswith(PREFIX):
            raise ValueError("this is an API key; write the name of the file of keys")
        return keys

    @field_validator("state")
    @classmethod
    def _is_redis(cls, state: str | None) -> str | None:
        if state is not None and not state.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("write redis://HOST:PORT/DB, or leave it out")
        return state


class LimitSettings(Settings):
    """How much a service takes on at once."""

    TABLE: ClassVar[str] = "limits"

    max_concurrent: Annotated[
        int,
        Field(ge=1, description="Requests that one worker has at a time; more get 503."),
    ] = 256
    seconds: Annotated[
        float, Field(gt=0, description="Until a request that is not answered gets 504.")
    ] = 30
    body_seconds: Annotated[
        float,
        Field(gt=0, description="Until a request that has not come whole gets 408."),
    ] = 10


class TelemetrySettings(Settings):
    """Who is told what happens."""

    TABLE: ClassVar[str] = "telemetry"

    metrics: Annotated[
        str | None,
        Field(
            description="HOST:PORT to serve the Prometheus metrics at, apart from the service. "
            "Without it they are at /metrics of the service, behind its access control."
        ),
    ] = None
    logs: Annotated[
        Literal["off", "json"],
        Field(description="json: all lines of the log as JSON, and one for each request."),
    ] = "off"
    traces: Annotated[
        str | None,
        Field(
            description="OTLP/HTTP endpoint for OpenTelemetry spans, such as "
            "http://127.0.0.1:4318; OTEL_EXPORTER_OTLP_ENDPOINT does as well."
        ),
    ] = None

    @field_validator("traces")
    @classmethod
    def _is_endpoint(cls, url: str | None) -> str | None:
        # A path is added to it; and what fails is logged with it, so that it may hold no secret.
        if url is not None and not re.fullmatch(r"https?://[^\s@?#/]+(/[^\s@?#]*)?", url):
            raise ValueError("write http://HOST:PORT, without a user and without a query")
        return url

    @field_validator("metrics")
    @classmethod
    def _is_address(cls, address: str | None) -> str | None:
        if address is not None:
            host, _, port = address.rpartition(":")
            if not host or not port.isdecimal() or not 0 < int(port) <= MAX_PORT:
                raise ValueError("write HOST:PORT, such as 127.0.0.1:9090")
        return address


class ServiceSettings(ListenSettings, AccessSettings, LimitSettings, TelemetrySettings):
    """What every ready-made service is told."""
