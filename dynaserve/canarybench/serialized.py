"""A release as whoever receives it can read it: every string in it, keys and numbers too.

An audit of the objects a program meant to publish can miss what their serialization adds or
keeps. So bytes and text are read strictly here, down to members that a JSON parser would drop
as duplicates, and whatever cannot be read whole is an error: half a release has no verdict.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from pathlib import PurePath
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

Format = Literal["auto", "json", "jsonl", "text"]

_DEEPEST = 200  # each level takes two frames of Python's stack
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


class ReleaseError(ValueError):
    """A release that cannot be read whole; the message says why, and quotes none of it."""


class NothingToCheck(Exception):  # noqa: N818 - neither a fault of ours nor a finding
    """There is nothing that an audit could say something about, which is no pass."""


class Step(NamedTuple):
    """One step down a document: to which child, and its name if that is an object's member."""

    position: int
    name: str | None = None


Path: TypeAlias = "tuple[Step, ...]"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One string of a release.

    ``path`` leads to it; of a key it leads to the member that the key names.
    """

    path: Path = field(repr=False)
    text: str = field(repr=False)
    is_key: bool = False


class Members(tuple[tuple[str, Any], ...]):
    """The members of a JSON object, those that share a name too: (name, `Document`) each."""

    __slots__ = ()

    def first(self, *names: str) -> tuple[Step, Any] | None:
        """Return the first member of one of these names, None if there is none."""
        for position, (name, value) in enumerate(self):
            if name in names:
                return Step(position, name), value
        return None


Document: TypeAlias = "str | list[Document] | Members"


@dataclass(frozen=True, slots=True)
class Serialized:
    """What was read; the document of a plain text is that text, its leaves are the lines."""

    document: Document = field(repr=False)
    is_text: bool
    leaves: tuple[Leaf, ...] = field(repr=False)


def read_release(release: Any, form: Format = "auto") -> Serialized:
    """Read a release.

    Parameters
    ----------
    release
        Bytes or text: UTF-8 (UTF-16 or UTF-32 with a byte order mark), JSON, JSON lines or any
        text. Else a JSON-like object: mappings, sequences, sets, data classes, pydantic models
        of strings, bytes, numbers, booleans, None.
    form
        What bytes or text hold; ``auto`` goes by the first character.

    Raises
    ------
    ReleaseError
        If it cannot be read whole: undecodable, truncated, nested too deeply, or holding an
        object of which nobody knows how it would be published.
    NothingToCheck
        If it is empty.
    """
    if isinstance(release, (bytes, bytearray, memoryview)):
        release = _decode(bytes(release))
    is_text = False
    if isinstance(release, str):
        document, is_text = _parse(release.removeprefix("\ufeff"), form)
    else:
        document = _plain(release)
    lines: Document = document
    if is_text and isinstance(document, str):
        lines = [*document.split("\n")]
    leaves = tuple(leaves_of(lines))
    if not any(leaf.text.strip() for leaf in leaves):
        raise NothingToCheck("the release is empty: there is nothing to audit")
    return Serialized(document, is_text, leaves)


def _decode(content: bytes) -> str:
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        where = error.start
    raise ReleaseError(f"the release is not {encoding.upper()} text: byte {where} cannot be read")


def _parse(text: str, form: Format) -> tuple[Document, bool]:
    """Return the document, and whether it is plain text."""
    if form == "text" or (form == "auto" and not _looks_like_json(text)) or not text.strip():
        return text, True
    if form != "jsonl":
        try:
            return _plain(_load(text)), False
        except json.JSONDecodeError as error:
            if form == "json" or error.msg != "Extra data":
                raise ReleaseError(
                    f"the release is not whole JSON: line {error.lineno}, column {error.colno}: "
                    f"{error.msg}"
                ) from None
    lines = enumerate(text.split("\n"), start=1)
    return [_plain(_load_line(line, number)) for number, line in lines if line.strip()], False


def _load_line(line: str, number: int) -> Any:
    try:
        return _load(line)
    except json.JSONDecodeError as error:
        raise ReleaseError(
            f"the release is not whole JSON lines: line {number}, column {error.colno}: {error.msg}"
        ) from None


def _looks_like_json(text: str) -> bool:
    """Whether text can only be meant as JSON: a Markdown link begins with a bracket too."""
    start = text.lstrip()
    return start.startswith("{") or (start.startswith("[") and start[1:].lstrip()[:1] in '[{"]')


def _load(text: str) -> Any:
    """Parse JSON, numbers as they are written, objects with all their members."""
    try:
        return json.loads(
            text,
            object_pairs_hook=Members,
            parse_int=str,
            parse_float=str,
            parse_constant=str,
            strict=False,
        )
    except RecursionError:
        raise ReleaseError("the release is nested too deeply to be read") from None


def _plain(value: Any, depth: int = 0) -> Document:
    """Return an object as the document that its serialization would be."""
    if depth > _DEEPEST:
        raise ReleaseError(f"the release is nested more than {_DEEPEST} deep, or holds itself")
    text = _as_text(value)
    if text is not None:
        return text
    if isinstance(value, Mapping):
        return Members((_key(name), _plain(each, depth + 1)) for name, each in value.items())
    if isinstance(value, Members):
        return Members((name, _plain(each, depth + 1)) for name, each in value)
    if isinstance(value, (list, tuple, Set)):
        return [_plain(each, depth + 1) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return Members((name, _plain(getattr(value, name), depth + 1)) for name in names)
    for method in ("model_dump", "tolist"):  # pydantic, numpy
        if callable(convert := getattr(value, method, None)):
            return _plain(convert(), depth + 1)
    raise ReleaseError(
        f"the release holds a {type(value).__name__}, and only what JSON knows can be audited; "
        "pass the bytes that are published"
    )


def _as_text(value: Any) -> str | None:
    """Return what a leaf reads as, None if there is more below."""
    if isinstance(value, str):
        return str.__str__(value)  # of a string enum its value, as JSON has it
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, Decimal, date, time, UUID, PurePath)):
        return int.__repr__(value) if isinstance(value, int) else str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _decode(bytes(value))
    return None


def _key(name: Any) -> str:
    text = _as_text(name)
    return str(name) if text is None else text


def leaves_of(value: Document, path: Path = ()) -> Iterator[Leaf]:
    """Yield the strings of a document in its order, each key before its value."""
    if isinstance(value, str):
        yield Leaf(path, value)
    elif isinstance(value, Members):
        for position, (name, member) in enumerate(value):
            step = (*path, Step(position, name))
            yield Leaf(step, name, is_key=True)
            yield from leaves_of(member, step)
    else:
        for position, each in enumerate(value):
            yield from leaves_of(each, (*path, Step(position)))
