"""The rows of a unit, and no others, in pieces that fit in memory.

Whoever reads all units of a file in order has read all of it, each row once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dynaserve.bulk.shards import Shard, Unit, open_parquet

BATCH = 8192
"""Most rows of Parquet in one piece."""


def read_lines(unit: Unit) -> Iterator[bytes]:
    """Yield the lines of a unit of JSON lines, without their ends; blank ones are no rows.

    A line belongs to the unit that it begins in.
    """
    with unit.shard.path.open("rb") as file:
        at = unit.start
        if at:
            file.seek(at - 1)
            at += len(file.readline()) - 1  # what begins in the unit before
        while at < unit.stop and (line := file.readline()):
            at += len(line)
            if line := line.strip():
                yield line


def read_tables(unit: Unit, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Yield the rows of a unit of Parquet as ``pyarrow.RecordBatch`` es of at most `BATCH` rows.

    Parameters
    ----------
    columns
        Which to read; None is all.

    Raises
    ------
    ValueError
        The file is not Parquet, or ends before the unit does.
    """
    wanted = None if columns is None else tuple(columns)
    stream: _Stream | None = getattr(_here, "stream", None)
    if stream is None or not stream.leads_to(unit, wanted):
        stream = _here.stream = _Stream(unit, wanted)
    yield from stream.rows(unit)


def close() -> None:
    """Let go of the file that this thread has read last."""
    _here.stream = None


class _Here(threading.local):
    stream: _Stream | None = None


_here = _Here()


@dataclass
class _Stream:
    """A Parquet file that is read on from where the unit before it ended.

    A row in the middle of a row group is only to be had by decoding all before it. A worker that
    takes units in order decodes a row group once, not once for every unit in it.
    """

    unit: Unit
    columns: tuple[str, ...] | None
    _identity: tuple[int, ...] = field(init=False)
    _starts: list[int] = field(init=False)
    _batches: Iterator[Any] = field(init=False)
    _at: int = field(init=False)
    _left: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._identity = _identity(self.unit.shard)
        file = open_parquet(self.unit.shard)
        self._starts = [0]
        for index in range(file.metadata.num_row_groups):
            self._starts.append(self._starts[-1] + file.metadata.row_group(index).num_rows)
        group = self._group(self.unit.start)
        self._at = self._starts[group]
        self._batches = file.iter_batches(
            BATCH,
            row_groups=range(group, file.metadata.num_row_groups),
            columns=None if self.columns is None else list(self.columns),
            use_threads=False,
        )

    def _group(self, row: int) -> int:
        """Return the last row group that begins at or before a row."""
        return max(index for index, start in enumerate(self._starts[:-1] or [0]) if start <= row)

    def leads_to(self, unit: Unit, columns: tuple[str, ...] | None) -> bool:
        """Whether reading on gets to a unit, with no more than its own row group before it."""
        return (
            unit.shard == self.unit.shard
            and columns == self.columns
            and self._identity == _identity(unit.shard)
            and self._at <= unit.start
            and self._group(self._at) == self._group(unit.start)
        )

    def rows(self, unit: Unit) -> Iterator[Any]:
        """Yield the rows of a unit that lies ahead."""
        while self._at < unit.stop:
            batch = self._left if self._left is not None else next(self._batches, None)
            if batch is None:
                raise ValueError(
                    f"{unit.shard.name}: has fewer rows than before; is it written to?"
                )
            skipped = min(max(unit.start - self._at, 0), batch.num_rows)
            taken = min(unit.stop - self._at, batch.num_rows)
            self._left = batch.slice(taken) if taken < batch.num_rows else None
            self._at += taken
            if taken > skipped:
                yield batch.slice(skipped, taken - skipped)


def _identity(shard: Shard) -> tuple[int, ...]:
    """Return what another file at the same place would differ in."""
    info = shard.path.stat()
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns
