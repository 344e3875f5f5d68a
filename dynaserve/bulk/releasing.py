"""Batches of Parquet rows to numpy arrays, through a defense, and back.

The one place that knows in which shapes logits and queries come. Nothing of a row is in a message.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.bulk.reading import Unreadable, values_of
from dynaserve.bulk.shards import Shard, open_parquet, reading_parquet, require_arrow
from dynaserve.defenses import Defense

Rows = NDArray[np.int64]
_FEWEST = 2
"""Classes of a row that something can be said of."""
_LOOKED_AT = 64
"""Rows at a time, of which the first is nearly always one that can be used."""


@dataclass(frozen=True)
class Columns:
    """What columns are called.

    Attributes
    ----------
    query
        What a row's noise depends on; None if it depends on nothing.
    """

    id: str
    logits: str
    query: str | None

    @property
    def names(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys(name for name in (self.id, self.logits, self.query) if name))


@dataclass(frozen=True)
class Released:
    """What came of a batch.

    Attributes
    ----------
    rows
        Which rows were released, ascending.
    probabilities
        Theirs, a ``pyarrow.ListArray`` of float32.
    labels
        The class of the highest of them.
    refused
        Row -> why it was not.
    """

    rows: Rows
    probabilities: Any
    labels: NDArray[np.int64]
    refused: dict[int, str]


def common_types(shards: Sequence[Shard], columns: Columns) -> dict[str, str]:
    """Return what each column holds, in all files the same.

    The same number as float32 and as float64 is two queries with two draws of noise.

    Raises
    ------
    ValueError
        Naming the file and column, what it holds, and what it should.
    """
    common: dict[str, str] = {}
    for shard in shards:
        for name, kind in column_types(shard, columns).items():
            if common.setdefault(name, kind) != kind:
                raise ValueError(
                    f"{shard.name}: column {name!r} holds {kind}, and that of {shards[0].name} "
                    f"{common[name]}; write all files with one type"
                )
    return common


def column_types(shard: Shard, columns: Columns) -> dict[str, str]:
    """Return what each column of a file holds: what makes a difference, as words.

    Raises
    ------
    ValueError
        Naming the column, what it is, and what it should be.
    """
    found = {}
    wanted = (
        (columns.id, _can_be_id, "strings or whole numbers"),
        (columns.logits, _can_be_logits, "lists of floats"),
        (columns.query, _can_be_query, "bytes, text, numbers or lists of numbers"),
    )
    schema = open_parquet(shard).schema_arrow
    for name, fits, what in wanted:
        if name is None:
            continue
        if schema.names.count(name) != 1:
            have = ", ".join(schema.names)
            raise ValueError(f"{shard.name}: needs one column {name!r} of {what}; it has {have}")
        kind = schema.field(name).type
        if not fits(kind):
            raise ValueError(f"{shard.name}: column {name!r} must hold {what}, not {kind}")
        found[name] = f"list of {kind.value_type}" if _is_list(kind) else str(kind)
    return found


def first_width(shard: Shard, columns: Columns) -> int | None:
    """Return how many classes rows of a file have, by its schema or the first row that can be used.

    That is one of two or more finite numbers; None if there is none.
    """
    file = open_parquet(shard)
    kind = file.schema_arrow.field(columns.logits).type
    if require_arrow().types.is_fixed_size_list(kind) and file.metadata.num_rows:
        return int(kind.list_size) if kind.list_size >= _FEWEST else None
    with reading_parquet(shard):
        for batch in file.iter_batches(_LOOKED_AT, columns=[columns.logits], use_threads=False):
            for row in batch.column(0).to_pylist():
                if row is not None and len(row) >= _FEWEST and all(map(_is_finite, row)):
                    return len(row)
    return None


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _can_be_id(kind: Any) -> bool:
    types = require_arrow().types
    return bool(types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind))


def _can_be_logits(kind: Any) -> bool:
    return _is_list(kind) and bool(require_arrow().types.is_floating(kind.value_type))


def _can_be_query(kind: Any) -> bool:
    types = require_arrow().types
    inner = kind.value_type if _is_list(kind) else kind
    numbers = types.is_integer(inner) or types.is_floating(inner) or types.is_boolean(inner)
    return _is_bytes(kind) or bool(numbers)


def _is_list(kind: Any) -> bool:
    types = require_arrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_bytes(kind: Any) -> bool:
    types = require_arrow().types
    text = types.is_string(kind) or types.is_large_string(kind)
    bare = types.is_binary(kind) or types.is_large_binary(kind)
    return bool(text or bare or types.is_fixed_size_binary(kind))


def release(defense: Defense, batch: Any, columns: Columns, width: int | None = None) -> Released:
    """Return what a defense makes of the rows of a batch.

    Rows without an id, logits or a query are refused, and those whose logits the defense refuses.
    Text of a query is hashed as the bytes that it is, whether they are UTF-8 or not.

    Parameters
    ----------
    width
        How many logits a row has to have; None for any number.
    """
    refused = {
        row: f'its "{columns.id}" {own.value}'
        for row, own in enumerate(values_of(batch.column(columns.id)))
        if isinstance(own, Unreadable)
    }
    for name in columns.names:
        for row in _incomplete(batch.column(name)):
            refused.setdefault(int(row), f'has no "{name}", or not all of it')
    if width is not None:
        widths = _widths(batch.column(columns.logits))
        for at in map(int, np.flatnonzero(widths != width)):
            refused.setdefault(at, f"has {widths[at]} logits, others have {width}")
    whole = np.setdiff1d(np.arange(batch.num_rows), list(refused)).astype(np.int64)
    parts: list[tuple[Rows, NDArray[np.float32]]] = []
    for rows in _of_one_shape(batch, columns, whole):
        logits = _array(batch.column(columns.logits), rows)
        queries = None if columns.query is None else _queries(batch.column(columns.query), rows)
        parts += _released(defense, logits, queries, rows, refused)
    return _in_order(parts, refused)


def _incomplete(column: Any) -> list[int]:
    """Return rows that hold nothing, or a list that lacks something."""
    compute = require_arrow().compute
    if not column.null_count and not (_is_list(column.type) and column.flatten().null_count):
        return []
    missing = [row for row, there in enumerate(column.is_valid().to_pylist()) if not there]
    if _is_list(column.type):
        inside = compute.list_parent_indices(column).filter(column.flatten().is_null())
        missing += inside.to_pylist()
    return missing


def _of_one_shape(batch: Any, columns: Columns, rows: Rows) -> Iterator[Rows]:
    """Yield rows together that can be rows of one array; what a row gets does not depend on it."""
    names = [name for name in (columns.logits, columns.query) if name is not None]
    widths = np.stack([_widths(batch.column(name))[rows] for name in names])
    for shape in np.unique(widths, axis=1).T:
        yield rows[(widths == shape[:, None]).all(axis=0)]


def _widths(column: Any) -> Rows:
    if not _is_list(column.type):
        return np.zeros(len(column), np.int64)
    lengths = require_arrow().compute.list_value_length(column).fill_null(0)
    return np.asarray(lengths.to_numpy(zero_copy_only=False), np.int64)


def _array(column: Any, rows: Rows) -> NDArray[Any]:
    """Return rows of a column as an array (n, width), or (n,) of plain numbers."""
    taken = column if len(rows) == len(column) else column.take(require_arrow().array(rows))
    if not _is_list(column.type):
        return np.asarray(taken.to_numpy(zero_copy_only=False))
    values = np.asarray(taken.flatten().to_numpy(zero_copy_only=False))
    return values.reshape(len(rows), len(values) // max(1, len(rows)))


def _queries(column: Any, rows: Rows) -> NDArray[Any] | list[bytes]:
    if not _is_bytes(column.type):
        return _array(column, rows)
    return list(_bare(column).take(require_arrow().array(rows)).to_pylist())


def _bare(column: Any) -> Any:
    """Return text as bytes, which no decoding can fail of."""
    arrow = require_arrow()
    if arrow.types.is_string(column.type):
        return column.cast(arrow.binary())
    if arrow.types.is_large_string(column.type):
        return column.cast(arrow.large_binary())
    return column


def _released(
    defense: Defense,
    logits: NDArray[Any],
    queries: NDArray[Any] | list[bytes] | None,
    rows: Rows,
    refused: dict[int, str],
) -> list[tuple[Rows, NDArray[np.float32]]]:
    """Return probabilities; one bad row fails a call, so the others are tried without it."""
    if not len(rows):
        return []
    try:
        return [(rows, defense(logits, queries=queries))]
    except ValueError:
        if len(rows) == 1:
            refused[int(rows[0])] = "its logits are refused by the defense (ValueError)"
            return []
    middle = len(rows) // 2
    return [
        each
        for half in (slice(middle), slice(middle, None))
        for each in _released(
            defense, logits[half], None if queries is None else queries[half], rows[half], refused
        )
    ]


def _in_order(parts: list[tuple[Rows, NDArray[np.float32]]], refused: dict[int, str]) -> Released:
    arrow = require_arrow()
    kind = probabilities_type()
    rows = np.concatenate([np.empty(0, np.int64), *(some for some, _ in parts)])
    labels = np.concatenate([np.empty(0, np.int64), *(p.argmax(axis=1) for _, p in parts)])
    lists = arrow.concat_arrays([arrow.array([], kind), *(_lists(p, kind) for _, p in parts)])
    if len(parts) > 1:
        order = np.argsort(rows)
        rows, labels, lists = rows[order], labels[order], lists.take(arrow.array(order))
    return Released(rows, lists, labels, refused)


def probabilities_type() -> Any:
    """Return the type of the output's lists; without room for nulls, they are quicker to write."""
    arrow = require_arrow()
    return arrow.list_(arrow.field("element", arrow.float32(), nullable=False))


def _lists(probabilities: NDArray[np.float32], kind: Any) -> Any:
    arrow = require_arrow()
    count, width = probabilities.shape
    offsets = np.arange(count + 1, dtype=np.int32) * width
    return arrow.ListArray.from_arrays(offsets, probabilities.ravel(), type=kind)
