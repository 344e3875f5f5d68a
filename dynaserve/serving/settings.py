"""What a serving process is told: one value object that survives the trip to worker processes.

BentoML's workers import the service module afresh, so settings travel as ``DYNASERVE_*``
environment variables. No secret is a setting: the noise key has its own way in
(``dynaserve.defenses.keys``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

PREFIX = "DYNASERVE_"


class SettingsError(ValueError):
    """A setting that cannot be served; the message says which one and what would be right."""


class ServeSettings(BaseModel):
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

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    source: str | None = None
    defense: str = "dynanoise"
    trust_pickle: bool = False
    undefended: bool = False
    max_rows: int = Field(default=1024, ge=1)
    max_bytes: int | None = Field(default=None, ge=1)
    workers: int = Field(default=1, ge=1)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> ServeSettings:
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

        Paths are made absolute, since a server changes its working directory; a setting of
        None becomes the empty string, so that it also overrides an inherited variable.
        """
        values = self.model_dump() | {
            "source": absolute(self.source),
            "defense": absolute(self.defense),
        }
        return {variable(name): text_of(value) for name, value in values.items()}


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
    return str(int(value)) if isinstance(value, bool) else str(value)
