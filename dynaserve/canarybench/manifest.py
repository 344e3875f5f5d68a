"""What was planted and where: the secret half of an audit.

The manifest holds every canary's value, so its file is as secret as a key: it is written with
mode 0600, and neither a repr, an error nor a report may show a value. Whatever has to name a
value in public does so by the canary's id or by `CanaryManifest.keyed_hash`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dynaserve.atomic import replace_file

SHORTEST_VALUE = 6
"""Characters; a shorter value is found by chance in any text, which would say nothing."""
_KEY_SIZE = 32
_NAME = re.compile(r"[A-Za-z0-9._:-]{1,100}")
_STRICT = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


@dataclass(frozen=True, slots=True)
class Canary:
    """One value that no published text may hold.

    Examples
    --------
    >>> Canary("c0", "email", "ada.quill@example.com", "conv-7")
    Canary(id='c0', kind='email', conversation_id='conv-7', start=None)
    """

    id: str
    kind: str
    """What it looks like: ``email``, ``phone``, ``address``, ``phrase``, ..."""
    value: str = field(repr=False)
    conversation_id: str | None = None
    """Where it was planted; None for a decoy, which never is."""
    start: int | None = None
    """Code points before the value in the text of its conversation, if that is known."""

    __pydantic_config__ = _STRICT

    def __post_init__(self) -> None:
        for name, text in (("id", self.id), ("kind", self.kind)):
            if not _NAME.fullmatch(text):  # they are shown, so a value in their place would be too
                raise ValueError(f"canary: its {name} must be 1 to 100 of A-Z a-z 0-9 . _ : -")
        if len(self.value) < SHORTEST_VALUE:
            raise ValueError(
                f"canary {self.id}: its value has fewer than {SHORTEST_VALUE} characters, "
                "and would be found by chance"
            )
        if any("\ud800" <= character <= "\udfff" for character in self.value):
            raise ValueError(f"canary {self.id}: its value has lone surrogates; no text does")


@dataclass(frozen=True)
class CanaryManifest:
    """The canaries of one planting, the decoys that were held back, and the key of their hashes.

    Parameters
    ----------
    canaries
        What was planted; each names its conversation.
    decoys
        Values made like the canaries and planted nowhere: whatever finds one is wrong.
    seed
        What the values were drawn from, and so as secret as they are.
    hash_key
        32 secret bytes, fresh for each planting, so that hashes in reports cannot be guessed
        from a list of likely values.

    Raises
    ------
    ValueError
        If two share an id or a value, a canary names no conversation or a decoy names one.

    Examples
    --------
    >>> manifest = CanaryManifest((Canary("c0", "email", "ada.quill@example.com", "conv-7"),))
    >>> [canary.id for canary in manifest.by_conversation["conv-7"]]
    ['c0']
    """

    canaries: tuple[Canary, ...]
    decoys: tuple[Canary, ...] = ()
    seed: int = field(default=0, repr=False)
    hash_key: bytes = field(default_factory=lambda: secrets.token_bytes(_KEY_SIZE), repr=False)

    def __post_init__(self) -> None:
        if len(self.hash_key) != _KEY_SIZE:
            raise ValueError(f"canary manifest: the hash key needs {_KEY_SIZE} bytes")
        ids: set[str] = set()
        values: set[str] = set()
        for canary in (*self.canaries, *self.decoys):
            if canary.id in ids:
                raise ValueError(f"canary manifest: two canaries have the id {canary.id}")
            if canary.value in values:
                raise ValueError(f"canary manifest: {canary.id} repeats another one's value")
            ids.add(canary.id)
            values.add(canary.value)
        for canary in self.canaries:
            if canary.conversation_id is None:
                raise ValueError(f"canary manifest: {canary.id} names no conversation")
        for decoy in self.decoys:
            if decoy.conversation_id is not None:
                raise ValueError(f"canary manifest: the decoy {decoy.id} names a conversation")

    @functools.cached_property
    def by_id(self) -> Mapping[str, Canary]:
        """Canaries and decoys by their id."""
        return MappingProxyType({canary.id: canary for canary in (*self.canaries, *self.decoys)})

    @functools.cached_property
    def by_conversation(self) -> Mapping[str, tuple[Canary, ...]]:
        """The canaries of each conversation that has some."""
        found: dict[str, list[Canary]] = {}
        for canary in self.canaries:
            if canary.conversation_id is not None:  # which the constructor has made sure of
                found.setdefault(canary.conversation_id, []).append(canary)
        return MappingProxyType({key: tuple(group) for key, group in found.items()})

    def keyed_hash(self, canary_id: str) -> str:
        """Return what stands for a canary's value in public: 32 hexadecimal characters."""
        return self.hashed(self.by_id[canary_id].value)

    def hashed(self, text: str) -> str:
        """Return the keyed hash of a text, 32 hexadecimal characters."""
        content = text.encode("utf-8", "surrogatepass")  # a release may hold lone surrogates
        return hashlib.blake2b(content, key=self.hash_key, digest_size=16).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the manifest, values included, to a file that only this user can read."""
        document = {
            "format": "dynaserve-canaries",
            "version": 1,
            "seed": self.seed,
            "hash_key": self.hash_key.hex(),
            "canaries": [asdict(canary) for canary in self.canaries],
            "decoys": [asdict(decoy) for decoy in self.decoys],
        }
        replace_file(Path(path), json.dumps(document, indent=1).encode(), mode=0o600)

    @classmethod
    def load(cls, path: str | Path) -> CanaryManifest:
        """Read what `save` wrote.

        Raises
        ------
        ValueError
            If the file is not a manifest; the message names the field, never what it holds.
        OSError
            If the file cannot be read.
        """
        try:
            document = _Document.model_validate_json(Path(path).read_bytes())
            return cls(
                canaries=document.canaries,
                decoys=document.decoys,
                seed=document.seed,
                hash_key=bytes.fromhex(document.hash_key),
            )
        except ValueError as error:
            reason = _without_values(error)
        raise ValueError(f"canary manifest {path}: {reason}")


class _Document(BaseModel):
    """The file's shape."""

    model_config = _STRICT

    format: Literal["dynaserve-canaries"]
    version: Literal[1]
    seed: int
    hash_key: str = Field(pattern=r"^[0-9a-f]{64}$")
    canaries: tuple[Canary, ...]
    decoys: tuple[Canary, ...]


def _without_values(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'file'}: {first['msg']}"
