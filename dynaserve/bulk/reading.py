"""The rows of a unit, and no others, in pieces that fit in memory.

Whoever reads all units of a file in order has read all of it, each row once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import IO, Any

from dynaserve.bulk.errors import InputError
from dynaserve.bulk.shards import Stamp, Unit, open_parquet, reading_parquet, stamp

BATCH = 8192
"""Most rows of Parquet in one piece."""
LONGEST = 1 << 24
"""Most bytes of a line."""
TOO_LONG = f"is longer than {LONGEST >> 20} MiB"
_PIECE = 1 << 20


class Unreadable(Enum):
    """What stands in place of values that Python cannot have."""

    NOT_UTF_8 = "is not UTF-8"
    OTHER = "cannot be read"


def read_lines(unit: Unit, longest: int = LONGEST) -> Iterator[bytes | None]:
    """Yield the lines of a unit of JSON lines, without their ends; blank ones are no rows.

    A line belongs to the unit that it begins in. However long lines are, a unit costs reading
    itself and its last line, and no more is in memory than the longest.

    Parameters
    ----------
    longest
        Most bytes of a line; None stands for a longer one.
    """
    with unit.shard.path.open("rb") as file:
        at = max(unit.start - 1, 0)
        file.seek(at)
        if unit.start:
            at = _after_line(file, at, unit.stop)  # what begins in the unit before
        while at < unit.stop and (line := file.readline(longest + 1)):
            at += len(line)
            if len(line) > longest and not line.endswith(b"\n"):
                at = _after_line(file, at, unit.stop)
                yield None
            elif line := line.strip():
                yield line


def _after_line(file: IO[bytes], at: int, stop: int) -> int:
    """Read to the end of a line, or to where it is no matter any more; return where that is."""
    while at < stop and (piece := file.readline(min(_PIECE, stop - at))):
        at += len(piece)
        if piece.endswith(b"\n"):
            break
    return at


def read_tables(unit: Unit, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Yield the rows of a unit of Parquet as ``pyarrow.RecordBatch`` es of at most `BATCH` rows.

    Parameters
    ----------
    columns
        Which to read; None is all.

    Raises
    ------
    InputError
        The file is not Parquet, or ends before the unit does.
    """
    wanted = None if columns is None else tuple(columns)
    here = threading.get_ident()
    stream = _streams.get(here)
    if stream is None or not stream.leads_to(unit, wanted):
        stream = _streams[here] = _Stream(unit, wanted)
    try:
        yield from stream.rows(unit)
    except InputError:
        _streams.pop(here, None)  # it leads nowhere any more
        raise


def values_of(column: Any) -> list[Any]:
    """Return the values of a column as Python's, and `Unreadable` in place of what is none.

    Arrow does not look whether text is UTF-8, and an error would quote what is not.
    """
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [_value(each) for each in column]


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return Unreadable.NOT_UTF_8
    except (ValueError, OverflowError):
        return Unreadable.OTHER


def close() -> None:
    """Let go of the files that were read last; one that is being read is opened again."""
    _streams.clear()


_streams: dict[int, _Stream] = {}
"""The file that each thread has read last."""


@dataclass
class _Stream:
    """A Parquet file that is read on from where the unit before it ended.

    A row in the middle of a row group is only to be had by decoding all before it. A worker that
    takes units in order decodes a row group once, not once for every unit in it.
    """

    unit: Unit
    columns: tuple[str, ...] | None
    _stamp: Stamp = field(init=False)
    _starts: list[int] = field(init=False)
    _batches: Iterator[Any] = field(init=False)
    _at: int = field(init=False)
    _left: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._stamp = stamp(self.unit.shard)
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
            and self._stamp == stamp(unit.shard)
            and self._at <= unit.start
            and self._group(self._at) == self._group(unit.start)
        )

    def rows(self, unit: Unit) -> Iterator[Any]:
        """Yield the rows of a unit that lies ahead."""
        while self._at < unit.stop:
            batch = self._left if self._left is not None else self._next()
            if batch is None:
                raise InputError(
                    f"{unit.shard.name}: has fewer rows than before; is it written to?"
                )
            skipped = min(max(unit.start - self._at, 0), batch.num_rows)
            taken = min(unit.stop - self._at, batch.num_rows)
            self._left = batch.slice(taken) if taken < batch.num_rows else None
            self._at += taken
            if taken > skipped:
                yield batch.slice(skipped, taken - skipped)

    def _next(self) -> Any:
        with reading_parquet(self.unit.shard):
            return next(self._batches, None)
