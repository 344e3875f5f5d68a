from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dynaserve.bulk import shards
from dynaserve.bulk.errors import InputError
from dynaserve.bulk.shards import Format, cut, find_shards, open_parquet


def table(path: Path, rows: int, width: int = 4, group: int | None = None) -> Path:
    values = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(rows * width, dtype="f4")), width)
    pq.write_table(pa.table({"id": np.arange(rows), "logits": values}), path, row_group_size=group)
    return path


def test_a_directory_is_read_in_the_order_of_names_at_any_depth(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a/2.ndjson", "a/1.JSONL", "_rejects.jsonl", ".x.jsonl", "_o/c.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}\n")
    (tmp_path / "README").write_text("not data")
    found = find_shards(tmp_path)
    assert [shard.name for shard in found] == ["a/1.JSONL", "a/2.ndjson", "b.jsonl"]
    assert {shard.format for shard in found} == {Format.JSONL}
    assert {shard.size for shard in found} == {3}


def test_one_file_is_an_input_too(tmp_path: Path) -> None:
    (shard,) = find_shards(table(tmp_path / "x.parquet", 3))
    assert (shard.name, shard.format) == ("x.parquet", Format.PARQUET)
    assert shard.path.is_absolute()


def test_what_cannot_be_shared_out_is_refused_with_what_would_be_right(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file"):
        find_shards(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"holds no \.jsonl, \.ndjson, \.parquet file"):
        find_shards(tmp_path)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"{}\n"))
    with pytest.raises(ValueError, match=r"a\.jsonl\.gz: is compressed as a whole"):
        find_shards(tmp_path)
    (tmp_path / "a.jsonl.gz").unlink()
    (tmp_path / "a.jsonl").write_text("{}")
    table(tmp_path / "b.parquet", 3)
    with pytest.raises(ValueError, match="one format at a time"):
        find_shards(tmp_path)
    (tmp_path / "a.jsonl").unlink()
    (tmp_path / "b.parquet").write_bytes(b"no parquet, but long enough")
    with pytest.raises(ValueError, match=r"b\.parquet: cannot be read as Parquet"):
        cut(find_shards(tmp_path), 100)


@pytest.mark.parametrize("name", ["b.jsonl", "deep/b.parquet"])
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("nothing", r"cannot be read \(No such file or directory\)"),
        ("itself", r"cannot be read \(Too many levels of symbolic links\)"),
        ("pipe", "is no file"),
        ("directory", "is a link to a directory, which is not followed"),
    ],
)
def test_what_cannot_be_read_as_a_file_is_refused_by_name(
    tmp_path: Path, name: str, kind: str, said: str
) -> None:
    source = tmp_path / "in"
    path = source / name
    path.parent.mkdir(parents=True)
    (source / "a.jsonl").write_text("{}\n")
    (tmp_path / "other").mkdir()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        aim = {"nothing": "gone", "itself": path, "directory": tmp_path / "other"}[kind]
        path.symlink_to(aim)
    with pytest.raises(ValueError, match=f"^{name}: {said}"):
        find_shards(source)
    path.rename(path.with_name(f"_{path.name}"))  # which is left out, as ever
    assert [shard.name for shard in find_shards(source)] == ["a.jsonl"]


def test_a_linked_file_and_a_linked_input_are_read(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.jsonl").write_text("{}\n")
    (tmp_path / "real" / "b.jsonl").symlink_to(tmp_path / "real" / "a.jsonl")
    (tmp_path / "in").symlink_to(tmp_path / "real")
    assert [(each.name, each.size) for each in find_shards(tmp_path / "in")] == [
        ("a.jsonl", 3),
        ("b.jsonl", 3),
    ]


def test_a_file_or_directory_that_this_user_may_not_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("a.jsonl", "deep/b.jsonl"):
        (tmp_path / name).write_text("{}\n")
    scandir = os.scandir

    def closed(path: str) -> object:
        if path.endswith("deep"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", closed)  # for nothing is closed to root
        with pytest.raises(PermissionError, match="deep"):
            find_shards(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, _: path.name != "b.jsonl")
    with pytest.raises(ValueError, match=r"^deep/b\.jsonl: this user may not read it"):
        find_shards(tmp_path)


@pytest.mark.parametrize("stored", [True, False])
def test_a_damaged_name_of_a_column_is_told_by_the_file_alone(tmp_path: Path, stored: bool) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1], "secretXX": [2]}), path, store_schema=stored)
    path.write_bytes(path.read_bytes().replace(b"XX", b"\xff\xfe"))
    with pytest.raises(InputError, match=r"^a\.parquet: cannot be read as Parquet") as caught:
        open_parquet(*find_shards(path))
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_lines_are_cut_by_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"x" * 25)
    (tmp_path / "b.jsonl").write_bytes(b"")
    units = cut(find_shards(tmp_path), 10)
    assert [(unit.start, unit.stop) for unit in units] == [(0, 10), (10, 20), (20, 25)]


def marks(path: Path, unit_bytes: int) -> list[tuple[int, int]]:
    return [(unit.start, unit.stop) for unit in cut(find_shards(path), unit_bytes)]


def test_one_large_row_group_becomes_several_units(tmp_path: Path) -> None:
    path = table(tmp_path / "x.parquet", 100)
    size = pq.ParquetFile(path).metadata.row_group(0).total_byte_size
    assert marks(path, size // 4) == [(0, 25), (25, 50), (50, 75), (75, 100)]
    assert marks(path, 10 * size) == [(0, 100)]


def test_units_end_with_row_groups_where_they_can(tmp_path: Path) -> None:
    path = table(tmp_path / "x.parquet", 100, group=10)
    size = pq.ParquetFile(path).metadata.row_group(0).total_byte_size
    assert marks(path, size) == [(row, row + 10) for row in range(0, 100, 10)]
    assert all(not (start % 10 or stop % 10) for start, stop in marks(path, 3 * size))


def test_rows_that_are_packed_well_do_not_make_a_unit_large(tmp_path: Path) -> None:
    zeros = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(100_000, "f4")), 100)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"logits": zeros}), path)
    assert path.stat().st_size < 10_000
    assert len(marks(path, 100_000)) == 4


def test_small_rows_fill_a_unit_by_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "UNIT_ROWS", 10)
    assert marks(table(tmp_path / "x.parquet", 40), 1 << 30) == [
        (0, 10), (10, 20), (20, 30), (30, 40),
    ]  # fmt: skip
