"""Reads the two data sets of the evaluation: texts with one true attribute, and people.

The files are the user's own; nothing of them is kept, logged or put into a message.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dynaserve.rlaa.model_roles.attributes import canonical
from dynaserve.rlaa.model_roles.recorded import RecordedReply, read_recorded
from dynaserve.rlaa.roles import RoleError

LLMPRIVACY = Path("llmprivacy", "synthetic_dataset.jsonl")
"""eth-sri/llmprivacy, CC BY-NC-SA 4.0: the RLAA paper's PersonalReddit."""
COMMENTS = Path("synthpai", "comments_eval_revised.jsonl.gz")
PROFILES = Path("synthpai", "profiles.json.gz")
"""eth-sri/SynthPAI."""

YEAR = 2024
"""As of which ages are read: both data sets were written around then."""

_FIELDS = (
    "age", "sex", "city_country", "birth_city_country", "education", "occupation", "income_level",
    "relationship_status",
)  # fmt: skip
"""What both data sets call the attributes."""

Truth = Mapping[str, str]
"""Each of the eight attributes -> what is true of a person."""


@dataclass(frozen=True)
class Record:
    """A text, and what an attacker should not learn from it.

    Attributes
    ----------
    number
        Its line in the file, from 1.
    text
        What somebody wrote.
    attribute
        The attribute that the text was written to hint at.
    author
        All that is true of who wrote it.
    reply
        What a large model once concluded from the text about that attribute.
    """

    number: int
    text: str = field(repr=False)
    attribute: str
    author: Truth = field(repr=False)
    reply: RecordedReply = field(repr=False)

    @property
    def truth(self) -> str:
        """What a guess is compared with."""
        return self.author[self.attribute]


@dataclass(frozen=True)
class Person:
    """Somebody of SynthPAI, with all they wrote."""

    truth: Truth = field(repr=False)
    comments: tuple[str, ...] = field(repr=False)


def read_records(directory: Path) -> tuple[Record, ...]:
    """Return the records of llmprivacy, in the order of the file.

    Raises
    ------
    FileNotFoundError
        Saying which file belongs where.
    ValueError
        Naming the file and the first line that is not a record, without its words.
    """
    path = _existing(directory / LLMPRIVACY, "https://github.com/eth-sri/llmprivacy")
    with path.open("rb") as lines:
        records = tuple(_record(fields, number, path) for number, fields in _objects(lines, path))
    if not records:
        raise ValueError(f"{path}: no records")
    return records


def read_people(directory: Path) -> tuple[Person, ...]:
    """Return the people of SynthPAI who have a profile and comments.

    Raises
    ------
    FileNotFoundError, ValueError
        As `read_records`.
    """
    source = "https://github.com/eth-sri/SynthPAI"
    profiles_path = _existing(directory / PROFILES, source)
    comments_path = _existing(directory / COMMENTS, source)
    truths = _profiles(profiles_path)
    people = []
    for number, fields in _objects(_unzipped(comments_path), comments_path):
        try:
            comments = tuple(str(comment["text"]) for comment in fields["comments"])
            truth = truths.get(fields["username"])
        except (KeyError, TypeError):
            raise ValueError(
                f"{comments_path}, line {number}: needs 'username' and 'comments', each of them "
                "with a 'text'"
            ) from None
        if truth is not None and comments:
            people.append(Person(truth, comments))
    if not people:
        raise ValueError(f"{comments_path}: nobody in it has a profile in {profiles_path.name}")
    return tuple(people)


def sample(records: Sequence[Record], limit: int | None, seed: int) -> tuple[Record, ...]:
    """Return ``limit`` records that a seed draws, each attribute in turn; all of them for None.

    They keep their order, and a larger limit with the same seed only adds to them.
    """
    if limit is None or limit >= len(records):
        return tuple(records)
    order = np.random.default_rng(seed).permutation(len(records))
    turns: dict[str, int] = {}
    ranked: list[tuple[int, int, int]] = []
    for position in order:
        attribute = records[position].attribute
        turn = turns[attribute] = turns.get(attribute, 0) + 1
        ranked.append((turn, len(ranked), int(position)))
    return tuple(records[position] for position in sorted(p for *_, p in sorted(ranked)[:limit]))


def _record(fields: Any, number: int, path: Path) -> Record:
    try:
        attribute = canonical(fields["feature"])
        text, reply = fields["response"], fields["guess"]
        author = _truth(fields["personality"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"{path}, line {number}: needs 'response', 'guess', 'feature' (one of "
            f"{', '.join(_FIELDS)}) and 'personality' with all of these"
        ) from None
    if not isinstance(text, str) or not isinstance(reply, str):
        raise ValueError(f"{path}, line {number}: 'response' and 'guess' must be strings")
    try:
        return Record(number, text, attribute, author, read_recorded(reply))
    except RoleError as error:
        raise ValueError(f"{path}, line {number}, 'guess': {error}") from None


def _truth(profile: Mapping[str, Any]) -> Truth:
    return MappingProxyType({canonical(key): str(profile[key]).strip() for key in _FIELDS})


def _profiles(path: Path) -> dict[str, Truth]:
    try:
        profiles = json.loads(b"".join(_unzipped(path)))
        return {one["username"]: _truth(one) for one in profiles.values()}
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise ValueError(f"{path}: is not JSON") from None
    except (AttributeError, KeyError, TypeError):
        raise ValueError(
            f"{path}: needs an object of profiles, each with 'username', {', '.join(_FIELDS)}"
        ) from None


def _objects(lines: Iterable[bytes], path: Path) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (UnicodeDecodeError, json.JSONDecodeError):
            raise ValueError(f"{path}, line {number}: is not JSON") from None


def _unzipped(path: Path) -> Iterator[bytes]:
    try:
        with gzip.open(path, "rb") as lines:
            yield from lines
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise ValueError(f"{path}: is not a whole gzip file") from None


def _existing(path: Path, source: str) -> Path:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there; it comes from {source}")
    return path
