"""Where a setting comes from: a flag, else an environment variable, else a TOML file.

Every setting has one name, a flag's and a variable's and a key's. BentoML's workers import the
service module afresh, so settings reach them as ``DYNASERVE_*`` variables. No secret is a setting,
and no error quotes a value: one may have been put in the wrong place.
"""

from __future__ import annotations

import difflib
import inspect
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import Self

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PREFIX = "DYNASERVE_"
CONFIG = "config"
"""Names the TOML file: a flag and a variable, but no key of the file itself."""
A_FILE = "a file"
"""Annotation of settings that name a file: a relative one is found from elsewhere too."""
NO_SETTINGS = (
    *("api_key", "debug", "isa", "metrics_dir", "noise_key", "state_dir"),
    *("keyless_pid", "supervisor_pid", "tried_pid"),
)
"""What other variables of ours are called."""
_OF_KUBERNETES = re.compile(r"\w+_(SERVICE_(HOST|PORT\w*)|PORT(_\d+_[A-Z]+(_\w+)?)?)").fullmatch
TABLES = ("classifier", "anonymizer", "summaries", "server", "access", "limits", "telemetry")
"""Of the file, which may hold the settings of several services."""


class SettingsError(ValueError):
    """Settings that cannot be served; each of ``problems`` says which one and what would be right.

    Parameters
    ----------
    problems : str
        One at least.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Found:
    """A setting as it was found, and where."""

    value: Any
    origin: str


class Settings(BaseModel):
    """Settings of one service; a subclass with a ``TABLE`` names the one that its fields are in."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False
    )
    TABLE: ClassVar[str] = ""

    @classmethod
    def load(
        cls, flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
    ) -> Self:
        """Return the settings that flags, variables and a file say, in this order.

        Parameters
        ----------
        flags : mapping, optional
            Settings by name; those that are None were not given. ``config`` names a TOML file.
        environment : mapping, optional
            Variables, instead of the process's own. An empty one counts as unset.

        Raises
        ------
        SettingsError
            Saying all that is wrong at once.
        """
        environment = os.environ if environment is None else environment
        flags = flags or {}
        problems = [*_mistyped(environment)]
        found: dict[str, Found] = {}
        config = flags.get(CONFIG) or environment.get(variable(CONFIG))
        if config:
            found |= _from_file(cls, Path(config), problems)
        for name in cls.model_fields:
            if text := environment.get(variable(name)):
                found[name] = Found(text, variable(name))
            if flags.get(name) is not None:
                found[name] = Found(flags[name], flag(name))
        try:
            settings = cls.model_validate({name: each.value for name, each in found.items()})
        except ValidationError as error:
            for problem in error.errors(include_input=False, include_url=False):
                name = str(problem["loc"][0]) if problem["loc"] else ""
                origin = found[name].origin if name in found else "settings"
                problems.append(f"{origin}: {problem['msg'].removeprefix('Value error, ')}")
        if problems:
            raise SettingsError(*problems)
        return settings

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Return what `load` does without flags: as a worker is told."""
        return cls.load(environment=environment)

    @classmethod
    def table_of(cls, name: str) -> str:
        """Return the table of the file that a setting is in."""
        return next(
            kind.TABLE
            for kind in cls.__mro__
            if issubclass(kind, Settings) and name in inspect.get_annotations(kind)
        )

    def to_environment(self) -> dict[str, str]:
        """Return the variables that ``from_environment`` turns into these settings again.

        A setting of None becomes the empty string, so that it also overrides an inherited
        variable; so does the name of the file. Files become absolute: a server changes its
        working directory.
        """
        told = {variable(CONFIG): ""}
        for name, info in type(self).model_fields.items():
            value = getattr(self, name)
            told[variable(name)] = text_of(absolute(value) if is_file(info) else value)
        return told


def _mistyped(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield problems with variables that look like one of ours and are none.

    Not with any other: Kubernetes makes ``DYNASERVE_SERVICE_HOST`` and more of a service's name.
    Upper case matters to some systems, and so to us.
    """
    names = {CONFIG, *(name for table in TABLES for name in _anywhere(table))}
    settings, others = ({variable(name) for name in kind} for kind in (names, NO_SETTINGS))
    for name in environment:
        written = name.upper()
        if name in settings | others or not written.startswith(PREFIX) or _OF_KUBERNETES(written):
            continue
        near = difflib.get_close_matches(written, settings, 1, 0.8)
        near += difflib.get_close_matches(written, others, 1, 0.9)
        if near:
            yield f"{name}: there is no such setting; do you mean {' or '.join(near)}?"


def _from_file(kind: type[Settings], path: Path, problems: list[str]) -> dict[str, Found]:
    """Return what a TOML file says, having added to ``problems`` what cannot be read of it."""
    try:
        with path.open("rb") as file:
            tables = tomllib.load(file)
    except OSError as error:
        problems.append(f"{path}: {error.strerror}")
        return {}
    except RecursionError:
        problems.append(f"{path}: no TOML: it is nested too deep")
        return {}
    except ValueError as error:  # of TOML or of UTF-8
        where = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "it is not UTF-8"
        problems.append(f"{path}: no TOML: {_place(where)}")
        return {}
    found = {}
    for table, content in tables.items():
        if table not in TABLES or not isinstance(content, dict):
            problems.append(f"{path}: no table [{_shown(table)}]; there are {', '.join(TABLES)}")
            continue
        known = _anywhere(table)
        for key, value in content.items():
            if key not in known:
                problems.append(f"{path}: {table} has no {_shown(key)}{_close(key, known)}")
            elif key in kind.model_fields and kind.table_of(key) == table:
                beside = is_file(kind.model_fields[key])
                found[key] = Found(
                    _beside(path, value) if beside else value, f"{path}: {table}.{key}"
                )
    return found


def _anywhere(table: str) -> set[str]:
    """Return the settings that some service has in a table."""
    return {
        name
        for kind in _descendants(Settings)
        for name in kind.model_fields
        if kind.table_of(name) == table
    }


def _descendants(kind: type[Settings]) -> Iterator[type[Settings]]:
    for each in kind.__subclasses__():
        yield each
        yield from _descendants(each)


def _place(message: str) -> str:
    """Return where the TOML ends to be such; the library's message may hold a value."""
    return message[message.rfind("(at ") :] if "(at " in message else message


def _shown(name: str) -> str:
    """Return a name of the file as it may be shown: a secret in its place is long, or odd."""
    return name if name.isidentifier() and len(name) <= 40 else "..."


def _close(name: str, known: set[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; do you mean {near[0]}?" if near else ""


def _beside(path: Path, value: Any) -> Any:
    """Return a file's name in a file as found from beside that."""
    if isinstance(value, str) and (beside := path.parent / value).exists():
        return str(beside)
    return value


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


def flag(name: str) -> str:
    """Return the flag of a setting."""
    return "--" + name.replace("_", "-")


def is_file(info: FieldInfo) -> bool:
    """Whether a setting names a file."""
    return A_FILE in info.metadata


def base_of(info: FieldInfo) -> Any:
    """Return the type of a setting, without None."""
    kinds = [kind for kind in get_args(info.annotation) if kind is not type(None)]
    optional = type(None) in get_args(info.annotation)
    return kinds[0] if optional else info.annotation


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
