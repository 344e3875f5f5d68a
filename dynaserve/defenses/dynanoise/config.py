"""The parameters of DynaNoise, checked once, so that nothing behind them checks again.

Every field is public knowledge: an attacker is assumed to know all of them. Secrets may not
be added here, for the whole of it is described, saved and hashed.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from dynaserve.defenses.document import require_utf8


class DynaNoiseConfig(BaseModel):
    """Frozen parameters; the upper bounds keep float32 arithmetic finite.

    Examples
    --------
    >>> config = DynaNoiseConfig(base_variance=0.3, sensitivity_scale=2.0, temperature=10.0)
    >>> config.noise
    'fresh'
    """

    model_config = ConfigDict(
        frozen=True,
        strict=True,  # a temperature of True is a mistake, not 1.0
        extra="forbid",
        allow_inf_nan=False,
        hide_input_in_errors=True,  # a key in the wrong place would be shown
        protected_namespaces=(),
    )

    base_variance: float = Field(ge=0, le=1e9)
    """Variance of the noise on a row of maximal entropy, in squared logits."""
    sensitivity_scale: float = Field(ge=0, le=1e9)
    """How much more variance a row of zero entropy gets: s² = base_variance (1 + scale · R)."""
    temperature: float = Field(ge=1e-9, le=1e9)
    """Divides the noisy logits. It hides nothing: whoever knows it multiplies it back."""
    noise: Literal["fresh", "keyed"] = "fresh"
    """New noise for each call, or always the same for the same query."""
    preserve_top1: bool = False
    """Keep the undefended label, by swapping two values where the noise moved it."""
    model_version: str = ""
    """Separates the keyed noise of models that share a key; meaningless for fresh noise."""

    @field_validator("model_version")
    @classmethod
    def _is_utf8(cls, version: str) -> str:
        return require_utf8(version, "a model version")

    def canonical(self) -> bytes:
        """Return the bytes that stand for everything but the model version in a hash."""
        fields = self.model_dump(exclude={"model_version"})
        return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


def checked_config(**fields: Any) -> DynaNoiseConfig:
    """Return the config of these fields.

    Raises
    ------
    ValueError
        In one line: which field is wrong, and what would be right. Only numbers are quoted.
    """
    try:
        return DynaNoiseConfig(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        value = first["input"]
        known = field in DynaNoiseConfig.model_fields and isinstance(value, (int, float))
        shown = f"{field}={value!r}" if known else field
        message = f"DynaNoise: {shown}: {first['msg']}"
    raise ValueError(message)
