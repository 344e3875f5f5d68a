"""Files of rows: which there are, what tells whether they changed, and how they are cut into units.

A unit is what one worker reads, works on and writes at a time; one file of any size becomes many.
Units depend on the files alone, so that a later run cuts them at the same rows. It knows bytes
and rows, and nothing of what a row says; reading is for `reading`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any

from dynaserve.bulk.errors import InputError, StoppedError
from dynaserve.extras import needing

UNIT_ROWS = 1 << 16
"""Rows of Parquet that fill a unit, however small they are."""
_PIECE = 1 << 20
_PACKED = {".gz", ".bz2", ".xz", ".zst", ".zip"}


class Format(str, Enum):
    """How a file holds its rows."""

    JSONL = "jsonl"
    PARQUET = "parquet"


_SUFFIXES = {".jsonl": Format.JSONL, ".ndjson": Format.JSONL, ".parquet": Format.PARQUET}


@dataclass(frozen=True)
class Shard:
    """A file of the input.

    Attributes
    ----------
    path
        Where it is, absolute: workers may run elsewhere.
    name
        What it is called in ledgers and messages: its path inside the input.
    format
        How it holds its rows.
    size
        Bytes.
    modified
        When it was written to last, in nanoseconds.
    """

    path: Path
    name: str
    format: Format
    size: int
    modified: int

    def require_same(self) -> None:
        """Refuse a file that is another one by now, or was written to; for any machine to ask.

        Raises
        ------
        StoppedError
            It has changed.
        OSError
            It cannot be read.
        """
        if (self.size, self.modified) != size_and_time(self.path):
            raise StoppedError(f"{self.name}: has changed since the run began")


def size_and_time(path: Path) -> tuple[int, int]:
    """Return the bytes of a file and when it was written to last, on all machines the same.

    Device and inode are not, and a network file system asks its server when a file is opened.
    """
    with path.open("rb") as file:
        info = os.fstat(file.fileno())
    return info.st_size, info.st_mtime_ns


Stamp = tuple[str, int, int, int, int]
"""Name, device, inode, bytes and time of a file."""


@dataclass(frozen=True)
class Unit:
    """A part of a shard.

    Attributes
    ----------
    shard
        Of which one.
    start, stop
        Of JSON lines: those that begin at bytes ``start <= b < stop``. Of Parquet: these rows.
    """

    shard: Shard
    start: int
    stop: int

    def __str__(self) -> str:
        kind = "bytes" if self.shard.format is Format.JSONL else "rows"
        return f"{self.shard.name}, {kind} {self.start} to {self.stop}"


def find_shards(source: Path) -> tuple[Shard, ...]:
    """Return the files of an input, in the order of their names: that of their rows.

    Parameters
    ----------
    source
        A ``.jsonl``, ``.ndjson`` or ``.parquet`` file, or a directory with such files at any
        depth. Names that begin with ``_`` or ``.`` are left out, as other readers of such
        directories do.

    Raises
    ------
    ValueError
        There is none, or they are of two formats, or one is compressed as a whole; or what has
        such a name is no file, or a directory is a link: rows would be missing without a word.
    OSError
        The source does not exist, or something in it cannot be looked at.
    """
    source = source.absolute()
    if not source.exists():
        raise FileNotFoundError(f"{source}: there is no such file or directory")
    files = sorted(_files(source)) if source.is_dir() else [(source.name, source)]
    for name, path in files:
        if path.suffix.lower() in _PACKED:
            raise ValueError(
                f"{name}: is compressed as a whole, which only one worker could read; unpack it, "
                "or write Parquet, which is compressed inside"
            )
    shards = tuple(_shard(path, name) for name, path in files if path.suffix.lower() in _SUFFIXES)
    if not shards:
        raise ValueError(f"{source}: holds no {', '.join(_SUFFIXES)} file")
    if len({shard.format for shard in shards}) > 1:
        raise ValueError(f"{source}: holds JSON lines and Parquet; give one format at a time")
    return shards


def _shard(path: Path, name: str) -> Shard:
    try:
        info = path.stat()
    except OSError as error:
        raise ValueError(f"{name}: cannot be read ({error.strerror})") from None
    if not stat.S_ISREG(info.st_mode):
        raise ValueError(f"{name}: is no file; remove it, or give it another name")
    if not os.access(path, os.R_OK):
        raise ValueError(f"{name}: this user may not read it")
    return Shard(path, name, _SUFFIXES[path.suffix.lower()], info.st_size, info.st_mtime_ns)


def _files(directory: Path) -> Iterator[tuple[str, Path]]:
    for here, directories, files in os.walk(directory, onerror=_raise):
        directories[:] = filter(_is_read, directories)
        for path in (Path(here, name) for name in [*directories, *filter(_is_read, files)]):
            name = path.relative_to(directory).as_posix()
            if not path.is_dir():
                yield name, path
            elif path.is_symlink():
                raise ValueError(
                    f"{name}: is a link to a directory, which is not followed; remove it, or put "
                    "the directory there"
                )


def _is_read(name: str) -> bool:
    return not name.startswith(("_", "."))


def _raise(error: OSError) -> None:
    raise error


def stamp(shard: Shard) -> Stamp:
    """Return what another file at the same place, or one that was written to, would differ in."""
    info = shard.path.stat()
    return shard.name, info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


def stamps(shards: Sequence[Shard]) -> tuple[Stamp, ...]:
    """Return the stamp of each file, for `require_unchanged`."""
    return tuple(map(stamp, shards))


def require_unchanged(source: Path, before: Sequence[Stamp]) -> None:
    """Refuse an input whose files are no longer those that had these stamps.

    Raises
    ------
    ValueError
        Some have changed, or there are other ones.
    """
    try:
        now = stamps(find_shards(source))
    except OSError:
        now = ()
    if now != tuple(before):
        raise ValueError(f"{source}: files have changed while they were read; start anew")


def cut(shards: Sequence[Shard], unit_bytes: int) -> tuple[Unit, ...]:
    """Return the units of all shards, in the order of their rows.

    Parameters
    ----------
    unit_bytes
        About how many bytes a unit has, as they are in memory. A row group of Parquet that is
        less than twice that stays whole, for a part of it costs reading what is before it.

    Raises
    ------
    ValueError
        A file is not Parquet.
    ImportError
        For Parquet without the extra ``bulk``.
    """
    units: list[Unit] = []
    for shard in shards:
        marks = _line_marks if shard.format is Format.JSONL else _row_marks
        units += [Unit(shard, *pair) for pair in pairwise(marks(shard, unit_bytes))]
    return tuple(units)


def _line_marks(shard: Shard, unit_bytes: int) -> list[int]:
    return [*range(0, shard.size, unit_bytes), shard.size]


def _row_marks(shard: Shard, unit_bytes: int) -> list[int]:
    """Return where units of Parquet rows begin and end; small row groups share one."""
    metadata = open_parquet(shard).metadata
    marks, filled, row = [0], 0, 0
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        size = _in_memory(group, unit_bytes)
        if filled and filled + size >= 2 * unit_bytes:
            marks.append(row)
            filled = 0
        parts = max(1, size // unit_bytes)
        marks += [row + group.num_rows * part // parts for part in range(1, parts)]
        filled = filled + size if parts == 1 else unit_bytes
        row += group.num_rows
    return sorted({*marks, row})


def _in_memory(group: Any, unit_bytes: int) -> int:
    """Return about how many bytes a row group takes, however well it is packed.

    At least as many as make `UNIT_ROWS` rows a unit: rows cost time too, however small they are.
    """
    columns = [group.column(index) for index in range(group.num_columns)]
    size: int = sum(max(each.total_uncompressed_size, 4 * each.num_values) for each in columns)
    return max(size, unit_bytes * int(group.num_rows) // UNIT_ROWS)


def open_parquet(shard: Shard) -> Any:
    """Return a ``pyarrow.parquet.ParquetFile`` that reads a page at a time.

    Raises
    ------
    InputError
        It is none.
    ImportError
        Without the extra ``bulk``.
    """
    arrow = require_arrow()
    with reading_parquet(shard):
        file = arrow.parquet.ParquetFile(shard.path, pre_buffer=False, buffer_size=_PIECE)
        _ = file.schema_arrow.names  # which is only made of the file's bytes when it is asked for
        return file


@contextmanager
def reading_parquet(shard: Shard) -> Iterator[None]:
    """Name the file where what is read of it is no Parquet; what a disk says stays as it is.

    Raises
    ------
    InputError
        Arrow cannot make anything of its bytes.
    """
    try:
        yield
    except MemoryError:
        raise
    except (OSError, UnicodeDecodeError, require_arrow().ArrowException) as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise InputError(
            f"{shard.name}: cannot be read as Parquet; it is none, or it is damaged"
        ) from None


def require_arrow() -> Any:
    """Return ``pyarrow`` with its Parquet module.

    Raises
    ------
    ImportError
        Naming the extra that has it.
    """
    with needing("bulk work needs pyarrow", extra="bulk"):
        import pyarrow as arrow  # noqa: PLC0415 - optional
        import pyarrow.compute  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    return arrow
