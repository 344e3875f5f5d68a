"""The one file format of defenses: TOML that says what it is, with numbers that survive exactly.

It reads and writes documents and knows no defense, so that every defense can use it. Reading
fails closed: whatever it does not know, it refuses. It never unpickles and never runs anything.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from dynaserve._version import __version__
from dynaserve.atomic import replace_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FORMAT = "dynaserve-defense"
_VERSION = 1
_FIELDS = {"format", "format_version", "written_by", "kind", "parameters"}


@dataclass(frozen=True)
class Document:
    """What a defense file says."""

    kind: str
    parameters: dict[str, Any]

    def require_parameters(self, *names: str) -> None:
        """Refuse a file whose parameters are not exactly these.

        Raises
        ------
        ValueError
            Naming what is missing and what is not known.
        """
        _require_fields(self.parameters, set(names), f"[parameters] of kind {self.kind!r}")


def write_document(path: str | Path, kind: str, parameters: Mapping[str, Any]) -> None:
    """Write a defense file whole; floats are written in the shortest form that reads back equal."""
    document = {
        "format": _FORMAT,
        "format_version": _VERSION,
        "written_by": __version__,
        "kind": kind,
        "parameters": dict(parameters),
    }
    replace_file(Path(path), tomli_w.dumps(document).encode())


def read_document(path: str | Path) -> Document:
    """Read a defense file.

    Raises
    ------
    ValueError
        If it is not a defense file, is newer than this program or holds an unknown field.
    """
    try:
        fields = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"is not TOML: {error}") from None
    except RecursionError:
        raise ValueError("is not a defense file: its values are nested too deeply") from None
    if fields.get("format") != _FORMAT:
        raise ValueError(f'is not a defense file: needs format = "{_FORMAT}"')
    _require_version(fields.get("format_version"))
    _require_fields(fields, _FIELDS, "the file")
    kind, parameters = fields["kind"], fields["parameters"]
    if not (isinstance(kind, str) and isinstance(parameters, dict)):
        raise ValueError("kind must be a string and parameters a table")
    return Document(kind, parameters)


def require_utf8(text: str, name: str) -> str:
    """Return ``text``, which a file and a hash can hold.

    Raises
    ------
    ValueError
        It holds half of a surrogate pair, which is no character.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} must be text that UTF-8 can hold") from None
    return text


def _require_version(version: object) -> None:
    if type(version) is not int or version < 1:
        raise ValueError("format_version must be a positive integer")
    if version > _VERSION:
        raise ValueError(
            f"has format_version {version}, newer than the {_VERSION} that DynaServe {__version__} "
            "reads; upgrade DynaServe"
        )


def _require_fields(fields: Mapping[str, Any], expected: set[str], where: str) -> None:
    if missing := sorted(expected - fields.keys()):
        raise ValueError(f"{where} lacks {', '.join(missing)}")
    if unknown := sorted(fields.keys() - expected):
        raise ValueError(f"{where} holds unknown {', '.join(map(repr, unknown))}")
