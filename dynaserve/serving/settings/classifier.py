"""How to serve one classifier."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from dynaserve.serving.settings.base import A_FILE, Settings
from dynaserve.serving.settings.server import LimitSettings, ServiceSettings


class ClassifierLimits(LimitSettings):
    """How much one request may bring."""

    max_rows: Annotated[
        int, Field(ge=1, description="Most rows in one request, and in one call of the model.")
    ] = 1024
    max_columns: Annotated[
        int,
        Field(
            ge=1,
            description="Most numbers in one row, where the model leaves the size of a row open.",
        ),
    ] = 65536
    max_bytes: Annotated[
        int | None,
        Field(
            ge=1,
            description="Most bytes in the body of one request. Without it: 32 bytes for each "
            "number of the rows, 64 MiB at most.",
        ),
    ] = None


class ModelSettings(Settings):
    """What is served."""

    TABLE: ClassVar[str] = "classifier"

    source: Annotated[
        str | None,
        A_FILE,
        Field(
            description="A .skops, .onnx, .pt2, .pt, .joblib or .pkl file, or a BentoML tag such "
            "as name:latest. Without it: a small digits classifier, trained at first start."
        ),
    ] = None
    name: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
            max_length=100,
            description="What the model is called at /v2. Without it: its file's or tag's name.",
        ),
    ] = None
    defense: Annotated[
        str,
        A_FILE,
        Field(description="dynanoise, dynanoise-paper, rank-template, none, or a FILE.toml."),
    ] = "dynanoise"
    undefended: Annotated[
        bool, Field(description="Confirm the defense none, or noise of variance 0.")
    ] = False
    trust_pickle: Annotated[
        bool, Field(description="Load files that can run code; only your own ones.")
    ] = False


class ServeSettings(ModelSettings, ClassifierLimits, ServiceSettings):
    """How to serve one classifier.

    Examples
    --------
    >>> settings = ServeSettings(source="bentoml-tag:latest", max_rows=64)
    >>> ServeSettings.from_environment(settings.to_environment()) == settings
    True
    """
