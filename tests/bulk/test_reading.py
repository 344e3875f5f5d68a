from __future__ import annotations

import errno
import io
import random
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.bulk import reading
from dynaserve.bulk.errors import InputError
from dynaserve.bulk.reading import Unreadable, close, read_lines, read_tables, values_of
from dynaserve.bulk.shards import Unit, cut, find_shards
from tests.bulk.tables import damaged, undecoded

LINES = st.lists(st.sampled_from([b"{}", b'{"id": 1}', b"", b"  ", b"x" * 40]), max_size=20)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close()


@given(
    lines=LINES, end=st.sampled_from([b"\n", b"\r\n"]), last=st.booleans(), size=st.integers(1, 60)
)
def test_units_of_lines_hold_every_line_once(
    lines: list[bytes], end: bytes, last: bool, size: int
) -> None:
    content = end.join(lines) + (end if last else b"")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "a.jsonl")
        path.write_bytes(content)
        read = [line for unit in cut(find_shards(path), size) for line in read_lines(unit)]
    assert read == [line.strip() for line in lines if line.strip()]


@given(
    lines=st.lists(st.integers(0, 30), max_size=12),
    size=st.integers(1, 40),
    longest=st.integers(1, 20),
)
def test_a_line_over_the_bound_is_told_once_and_loses_no_other(
    lines: list[int], size: int, longest: int
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "a.jsonl")
        path.write_bytes(b"\n".join(b"x" * length for length in lines))
        units = cut(find_shards(path), size)
        read = [line for unit in units for line in read_lines(unit, longest)]
    assert read == [b"x" * n if n <= longest else None for n in lines if n]


def test_one_long_line_costs_no_unit_more_than_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x" * 200_000)
    taken = []

    class Counted(io.BufferedReader):
        def readline(self, size: int | None = -1, /) -> bytes:
            line = super().readline(size)
            taken.append(len(line))
            return line

    monkeypatch.setattr(Path, "open", lambda path, _: Counted(io.FileIO(path)))
    units = cut(find_shards(path), 1000)
    assert [line for unit in units for line in read_lines(unit, 2000)] == [None]
    assert max(taken) == 2001
    assert sum(taken) <= 200_000 + 2001 + len(units)


def numbers(unit: Unit) -> list[int]:
    return [row for batch in read_tables(unit, ["n"]) for row in batch.column(0).to_pylist()]


@given(
    rows=st.integers(1, 60),
    group=st.integers(1, 60),
    batch=st.integers(1, 20),
    marks=st.sets(st.integers(1, 59), max_size=6),
    order=st.randoms(use_true_random=False),
)
def test_any_units_of_parquet_hold_their_rows_in_whatever_order_they_are_read(
    rows: int, group: int, batch: int, marks: set[int], order: random.Random
) -> None:
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BATCH", batch)
        path = Path(directory, "a.parquet")
        pq.write_table(pa.table({"n": np.arange(rows)}), path, row_group_size=group)
        (shard,) = find_shards(path)
        ends = sorted({0, rows, *(mark for mark in marks if mark < rows)})
        units = [Unit(shard, *pair) for pair in pairwise(ends)]
        order.shuffle(units)
        for unit in units:
            assert numbers(unit) == list(range(unit.start, unit.stop))


def test_a_file_is_opened_once_for_units_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": np.arange(100)}), path)
    (shard,) = find_shards(path)
    opened = []
    monkeypatch.setattr(
        reading, "open_parquet", lambda shard: opened.append(shard) or pq.ParquetFile(shard.path)
    )
    for start in (0, 10, 50, 90):
        assert numbers(Unit(shard, start, start + 10)) == list(range(start, start + 10))
    assert len(opened) == 1
    assert numbers(Unit(shard, 20, 30)) == list(range(20, 30))
    assert len(opened) == 2


def test_another_file_in_its_place_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": np.arange(100)}), path)
    (shard,) = find_shards(path)
    assert numbers(Unit(shard, 0, 10)) == list(range(10))
    path.unlink()
    pq.write_table(pa.table({"n": -np.arange(100)}), path)
    assert numbers(Unit(shard, 10, 12)) == [-10, -11]


def test_files_of_all_threads_are_let_go_of(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": np.arange(5)}), path)
    (shard,) = find_shards(path)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(numbers, [Unit(shard, 0, 3), Unit(shard, 0, 3)])) == [[0, 1, 2]] * 2
        assert reading._streams
        close()
        assert not reading._streams
        assert list(pool.map(numbers, [Unit(shard, 3, 5)])) == [[3, 4]]


def test_a_file_that_ends_early_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": np.arange(5)}), path)
    (shard,) = find_shards(path)
    with pytest.raises(ValueError, match=r"a\.parquet: has fewer rows than before"):
        numbers(Unit(shard, 0, 6))


def test_a_damaged_page_is_told_by_the_file_and_again_if_asked_again(tmp_path: Path) -> None:
    path = damaged(tmp_path / "a.parquet", pa.table({"n": np.arange(50_000)}))
    (shard,) = find_shards(path)
    for _ in range(2):
        with pytest.raises(InputError, match=r"^a\.parquet: cannot be read as Parquet; it is none"):
            numbers(Unit(shard, 49_000, 50_000))


def test_a_disk_that_cannot_be_read_is_no_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": np.arange(5)}), path)
    (unit,) = cut(find_shards(path), 1 << 24)

    def broken(*_: object, **__: object) -> Iterator[None]:
        raise OSError(errno.EIO, "Input/output error")
        yield

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", broken)
    with pytest.raises(OSError, match="Input/output error") as caught:
        numbers(unit)
    assert caught.value.errno == errno.EIO


def test_values_that_python_cannot_have_are_told_apart_from_the_others() -> None:
    text = undecoded([b"a", b"\xff", b"c"], pa.string())
    assert values_of(text) == ["a", Unreadable.NOT_UTF_8, "c"]
    far = pa.array([0, 10**18], pa.timestamp("s"))
    assert values_of(far) == [datetime(1970, 1, 1), Unreadable.OTHER]
    assert values_of(pa.array([1, None])) == [1, None]
