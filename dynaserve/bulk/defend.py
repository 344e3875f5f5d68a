"""Logits in Parquet, behind a defense: the same numbers, to the bit, as one call of it gives.

What a row gets depends on that row alone, so it does not matter how rows are shared out. The
noise key is in no job: a worker finds its own, and a keyed hash tells whether it is the same.
"""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dynaserve.bulk.errors import StoppedError
from dynaserve.bulk.ids import is_id
from dynaserve.bulk.job import Done, Reject, Work, place
from dynaserve.bulk.reading import read_tables, values_of
from dynaserve.bulk.releasing import (
    Columns,
    common_types,
    first_width,
    probabilities_type,
    release,
)
from dynaserve.bulk.same_key import SIZE, check_of
from dynaserve.bulk.shards import Shard, Unit, require_arrow
from dynaserve.defenses import Defense, DynaNoise, NoiseKey, RankTemplate, Undefended
from dynaserve.defenses.document import Document

_KINDS = {each.KIND: each.from_document for each in (DynaNoise, RankTemplate, Undefended)}


@dataclass(frozen=True)
class Defending:
    """A `Job` that defends logits.

    Attributes
    ----------
    document
        The defense, as JSON of its kind and parameters.
    columns
        What columns are called; no query if the defense needs none.
    key
        `key_check` of the noise key, None if there is none.
    types
        What the columns hold, by name; noise depends on what a query is as well as on its value.
    width
        How many classes a row has, for another number is another model's; None for any.
    """

    document: str
    columns: Columns
    key: str | None = None
    types: tuple[tuple[str, str], ...] = ()
    width: int | None = None

    command = "defend"
    suffix = "parquet"

    @classmethod
    def by(cls, document: Document, columns: Columns) -> Defending:
        """Return the job for a defense file, with the noise key that this process finds.

        Raises
        ------
        ValueError, OSError
            It is no defense that needs nothing but logits, its key cannot be read or made, or its
            keyed noise is for no version of a model.
        """
        if _is_keyed(document) and not document.parameters.get("model_version"):
            raise ValueError("keyed noise is for one version of a model; say which")
        text = json.dumps({"kind": document.kind, "parameters": document.parameters})
        if not _is_keyed(document):
            return cls(text, Columns(columns.id, columns.logits, None))
        return cls(text, columns, key_check())

    def configuration(self) -> Mapping[str, Any]:
        """See `Job`."""
        return {
            **json.loads(self.document),
            "columns": asdict(self.columns),
            "types": dict(self.types),
            "classes": self.width,
            "key": self.key,
        }

    def ids(self, unit: Unit) -> Iterator[Sequence[Any]]:
        """See `Job`."""
        for batch in read_tables(unit, [self.columns.id]):
            yield values_of(batch.column(0))

    def defense(self) -> Defense:
        """Return the defense.

        Raises
        ------
        StoppedError
            This process has no noise key, or another one.
        """
        document = Document(**json.loads(self.document))
        if document.kind not in _KINDS:
            raise ValueError(f"a defense of kind {document.kind!r} needs more than logits")
        if self.key is not None:
            _require_key(self.key)
        return _KINDS[document.kind](document)

    def start(self) -> Work:
        """See `Job`."""
        require_arrow().set_cpu_count(1)  # a worker is one of many
        return partial(_defended, self.defense(), self.columns, self.width)

    def for_input(self, shards: Sequence[Shard]) -> Defending:
        """Return the job for files, having found out whether they and the defense fit together.

        Raises
        ------
        ValueError
            They do not; the message says which file, and what would be right.
        """
        defense = self.defense()
        types = common_types(shards, self.columns)
        width = next(filter(None, (first_width(shard, self.columns) for shard in shards)), None)
        if width is not None:
            # Not the row itself, which the defense may refuse for something else.
            query = None if self.columns.query is None else [b""]
            defense(np.zeros((1, width), np.float32), queries=query)
        return replace(self, types=tuple(types.items()), width=width)


def _defended(
    defense: Defense, columns: Columns, width: int | None, unit: Unit, first: int
) -> Done:
    """Defend a unit; see `Work`."""
    arrow = require_arrow()
    tables, row = [], 0
    rejects: list[Reject] = []
    for batch in read_tables(unit, columns.names):
        ids = batch.column(columns.id)
        released = release(defense, batch, columns, width)
        kept = ids.take(arrow.array(released.rows))
        tables.append(
            arrow.table([kept, released.labels, released.probabilities], _schema(ids.type))
        )
        for at, reason in sorted(released.refused.items()):
            (own,) = values_of(ids.slice(at, 1))
            known = own if is_id(own) else None
            rejects.append(Reject(known, place(unit, first, row + at), "invalid", reason))
        row += batch.num_rows
    sink = io.BytesIO()
    # Floats hardly repeat, which a dictionary is for, and nobody looks for a range of them.
    arrow.parquet.write_table(
        arrow.concat_tables(tables), sink, use_dictionary=False, write_statistics=["id", "label"]
    )
    return Done(sink.getvalue(), row, tuple(rejects))


def _schema(kind: Any) -> Any:
    arrow = require_arrow()
    return arrow.schema(
        [
            arrow.field("id", kind),
            arrow.field("label", arrow.int64(), nullable=False),
            arrow.field("probabilities", probabilities_type(), nullable=False),
        ]
    )


def _is_keyed(document: Document) -> bool:
    return document.kind == DynaNoise.KIND and document.parameters.get("noise") == "keyed"


def key_check() -> str:
    """Return a keyed hash by which two processes know that they have the same noise key."""
    return check_of(NoiseKey.resolve().blake2b(digest_size=SIZE))


def _require_key(check: str) -> None:
    """Refuse to go on with another key than the run began with, or to make one."""
    here = f"the worker on {socket.gethostname()}"
    if not NoiseKey.exists():
        raise StoppedError(
            f"{here} has no noise key; give it DYNASERVE_NOISE_KEY, or the key file in its state "
            "directory"
        )
    if key_check() != check:
        raise StoppedError(
            f"{here} has another noise key than this process: the same query would get other "
            "noise there, which averages away; give both the same DYNASERVE_NOISE_KEY or key file"
        )
