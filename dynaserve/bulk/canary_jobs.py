"""What workers do with conversations: count their terms, and find the nearest cluster.

Both write Parquet, a row for each conversation in the order of the input. What a row gets depends
on that row and the fitted clusters alone. No text is in what they write, and no canary is known
here.
"""

from __future__ import annotations

import hashlib
import io
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dynaserve.bulk.canary_rows import read_conversations, read_ids
from dynaserve.bulk.errors import StoppedError
from dynaserve.bulk.job import Done, Work
from dynaserve.bulk.reading import read_tables
from dynaserve.bulk.shards import Unit, require_arrow
from dynaserve.canarybench.large import Model
from dynaserve.canarybench.large_release import LONGEST, user_hash
from dynaserve.canarybench.terms import HASHED, count_terms, require_sklearn

_MOST = np.iinfo(np.uint16).max


@dataclass(frozen=True)
class Vectors:
    """A `Job` that counts the terms of conversations."""

    command = "vectors"
    suffix = "parquet"

    def configuration(self) -> Mapping[str, Any]:
        """See `Job`."""
        return {"hashed": HASHED, "longest": LONGEST}

    def ids(self, unit: Unit) -> Iterator[Sequence[Any]]:
        """See `Job`."""
        yield read_ids(unit)

    def start(self) -> Work:
        """See `Job`."""
        require_arrow().set_cpu_count(1)  # a worker is one of many
        require_sklearn("sklearn.feature_extraction.text")  # or the worker is told what it lacks
        return _vectors


def _vectors(unit: Unit, first: int) -> Done:
    """Count the terms of a unit; see `Work`."""
    arrow = require_arrow()
    read = list(read_conversations(unit, first))
    counts = count_terms([each.text for each in read])
    data = np.minimum(counts.data, _MOST).astype(np.uint16)
    return _written(
        len(read),
        {
            "id": arrow.array([each.id for each in read], arrow.string()),
            "user": np.array([user_hash(each.user) for each in read], np.uint64),
            "quotable": np.array([len(each.text) <= LONGEST for each in read], bool),
            "terms": _lists(counts.indptr, counts.indices.astype(np.uint32)),
            "counts": _lists(counts.indptr, data),
        },
    )


def terms_of(batch: Any) -> Any:
    """Return the counts of a batch that `Vectors` wrote, sparse float32 (n, `HASHED`)."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - the canary extra

    terms, counts = batch.column("terms"), batch.column("counts")
    starts = terms.offsets.to_numpy()
    indices = terms.flatten().to_numpy().astype(np.int32)
    data = counts.flatten().to_numpy().astype(np.float32)
    return csr_matrix((data, indices, starts - starts[0]), shape=(len(terms), HASHED))


@dataclass(frozen=True)
class Clusters:
    """A `Job` that finds the cluster of each conversation, from its terms.

    Attributes
    ----------
    model
        The file of the fitted clusters, which every worker sees.
    digest
        Of what is in it, by which a worker that sees another file refuses to work.
    """

    model: Path
    digest: str

    command = "clusters"
    suffix = "parquet"

    @classmethod
    def by(cls, model: Path) -> Clusters:
        """Return the job for a file that is there now."""
        return cls(model, _digest_of(model))

    def configuration(self) -> Mapping[str, Any]:
        """See `Job`."""
        return {"model": self.digest}

    def ids(self, unit: Unit) -> Iterator[Sequence[Any]]:
        """See `Job`."""
        for batch in read_tables(unit, ["id"]):
            yield batch.column(0).to_pylist()

    def start(self) -> Work:
        """See `Job`."""
        require_arrow().set_cpu_count(1)
        if _digest_of(self.model) != self.digest:
            raise StoppedError(
                f"the worker on {socket.gethostname()} has another {self.model} than this process; "
                "workers have to see the same files under the same paths"
            )
        return partial(_clusters, Model.load(self.model))


def _digest_of(model: Path) -> str:
    return hashlib.blake2b(model.read_bytes(), digest_size=16).hexdigest()


def _clusters(model: Model, unit: Unit, _: int) -> Done:
    """Find the clusters of a unit; see `Work`."""
    arrow = require_arrow()
    tables, rows = [], 0
    for batch in read_tables(unit, ["user", "quotable", "terms", "counts"]):
        nearest = model.nearest(terms_of(batch))
        tables.append(
            {
                "user": batch.column("user"),
                "quotable": batch.column("quotable"),
                "cluster": arrow.array(nearest.labels),
                "similarity": arrow.array(nearest.similarity),
                "value": arrow.array(nearest.value),
            }
        )
        rows += batch.num_rows
    return _written(
        rows,
        {name: arrow.chunked_array([each[name] for each in tables]) for name in tables[0]},
    )


def _lists(starts: Any, values: Any) -> Any:
    arrow = require_arrow()
    return arrow.ListArray.from_arrays(arrow.array(starts, arrow.int32()), arrow.array(values))


def _written(rows: int, columns: Mapping[str, Any]) -> Done:
    arrow = require_arrow()
    sink = io.BytesIO()
    arrow.parquet.write_table(arrow.table(dict(columns)), sink)
    return Done(sink.getvalue(), rows)
