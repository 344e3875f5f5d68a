from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve import DynaNoise
from dynaserve.bulk.releasing import Columns, column_types, common_types, first_width, release
from dynaserve.bulk.shards import find_shards
from tests.bulk.tables import undecoded

NAMES = Columns("id", "logits", "query")
KEYED = DynaNoise.keyed(bytes(range(32)))
PLAIN = Columns("id", "logits", None)
LOGITS = np.random.default_rng(1).normal(0, 2, (6, 3)).astype(np.float32)


def batch(logits: Any, query: Any = None, ids: Any = None) -> Any:
    columns = {"id": list(range(len(logits))) if ids is None else ids, "logits": logits}
    if query is not None:
        columns["query"] = query
    return pa.RecordBatch.from_pydict(columns)


def lists(released: Any) -> list[list[float]]:
    return list(released.probabilities.to_pylist())


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
@pytest.mark.parametrize("shape", [pa.list_, lambda kind: pa.list_(kind, 3)])
def test_any_list_of_floats_gives_what_the_defense_gives(kind: Any, shape: Any) -> None:
    values = LOGITS.astype(kind.to_pandas_dtype())
    queries = np.arange(12).reshape(6, 2)
    read = batch(pa.array(list(values), shape(kind)), pa.array(queries.tolist()))
    released = release(KEYED, read, NAMES)
    expected = KEYED(values, queries=queries)
    assert lists(released) == expected.tolist()
    assert released.labels.tolist() == expected.argmax(axis=1).tolist()


@pytest.mark.parametrize(
    ("column", "queries"),
    [
        (pa.array([b"a", b"b"]), [b"a", b"b"]),
        (pa.array([b"a", b"b"], pa.binary(1)), [b"a", b"b"]),
        (pa.array(["é", "b"]), ["é".encode(), b"b"]),
        (pa.array([3, 4]), np.array([3, 4])),
        (pa.array([True, False]), np.array([True, False])),
        (pa.array([[1, 2], [3, 4]], pa.list_(pa.uint8())), np.array([[1, 2], [3, 4]], np.uint8)),
    ],
)
def test_a_query_is_what_serving_would_hash(column: Any, queries: Any) -> None:
    released = release(KEYED, batch(pa.array(list(LOGITS[:2])), column), NAMES)
    assert lists(released) == KEYED(LOGITS[:2], queries=queries).tolist()


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_text_is_hashed_as_its_bytes_whether_they_are_utf_8_or_not(kind: Any) -> None:
    queries = ["é".encode(), b"\xff\xfe", b"plain"]
    read = batch(pa.array(list(LOGITS[:3])), undecoded(queries, kind))
    released = release(KEYED, read, NAMES)
    assert lists(released) == KEYED(LOGITS[:3], queries=queries).tolist()
    # As text that Python has: the same noise as ever.
    text = pa.array(["é", "plain"], kind)
    again = release(KEYED, batch(pa.array(list(LOGITS[[0, 2]])), text), NAMES)
    assert lists(again) == [lists(released)[0], lists(released)[2]]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_row_whose_id_is_not_utf_8_is_refused_alone(kind: Any) -> None:
    ids = undecoded([b"a", b"\xff", b"c"], kind)
    released = release(KEYED, batch(pa.array(list(LOGITS[:3])), pa.array([1, 2, 3]), ids), NAMES)
    assert released.refused == {1: 'its "id" is not UTF-8'}
    assert released.rows.tolist() == [0, 2]
    expected = KEYED(LOGITS[[0, 2]], queries=np.array([1, 3]))
    assert lists(released) == expected.tolist()


def test_a_slice_of_a_batch_is_its_rows_alone() -> None:
    whole = batch(pa.array(list(LOGITS)), pa.array(list(LOGITS)))
    expected = KEYED(LOGITS, queries=LOGITS)[2:5].tolist()
    assert lists(release(KEYED, whole.slice(2, 3), NAMES)) == expected


def test_rows_that_lack_something_are_refused_and_no_others() -> None:
    logits = [[1.0, 2.0], None, [1.0, None], [3.0, 1.0], [1.0, 2.0]]
    query = pa.array([[1, 2], [1, 2], [1, 2], [1, None], [5, 6]])
    read = batch(logits, query, [0, 1, 2, 3, None])
    released = release(KEYED, read, NAMES)
    assert released.refused == {
        1: 'has no "logits", or not all of it',
        2: 'has no "logits", or not all of it',
        3: 'has no "query", or not all of it',
        4: 'has no "id", or not all of it',
    }
    assert released.rows.tolist() == [0]
    # That another row lacks a number must not turn its whole numbers into others.
    assert lists(released) == KEYED(np.array([[1.0, 2.0]]), queries=np.array([[1, 2]])).tolist()


ROW = st.sampled_from(
    [
        [1.0, 2.0, 0.5],
        [0.0, 0.0],
        [3.0],
        [],
        [float("nan"), 1.0],
        [float("inf"), 0.0, 1.0],
        [2.0, -1.0],
    ]
)


@given(st.lists(ROW, max_size=30))
def test_what_a_row_gets_depends_on_no_other_row(rows: list[list[float]]) -> None:
    ids = list(range(len(rows)))
    read = pa.RecordBatch.from_pydict(
        {
            "id": pa.array(ids, pa.int64()),
            "logits": pa.array(rows, pa.list_(pa.float32())),
            "query": pa.array([str(number) for number in ids], pa.string()),
        }
    )
    released = release(KEYED, read, NAMES)
    alone = {}
    for number, row in enumerate(rows):
        values = np.array([row], np.float32)
        if len(row) >= 2 and np.isfinite(values).all():
            alone[number] = KEYED(values, queries=[str(number).encode()])[0].tolist()
    assert dict(zip(released.rows.tolist(), lists(released), strict=True)) == alone
    assert released.rows.tolist() == sorted(alone)
    assert released.refused.keys() == set(ids) - alone.keys()
    assert {"its logits are refused by the defense (ValueError)"} >= set(released.refused.values())


def table(path: Path, **columns: Any) -> Any:
    pq.write_table(pa.table(columns), path)
    (shard,) = find_shards(path)
    return shard


def test_columns_are_looked_at_before_anything_is_done(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    good = {"id": [1], "logits": [[1.0, 2.0]], "query": ["x"]}
    assert column_types(table(path, **good), NAMES) == {
        "id": "int64", "logits": "list of double", "query": "string",
    }  # fmt: skip
    for changed, said in (
        ({"logits": [[1, 2]]}, "column 'logits' must hold lists of floats, not list"),
        ({"logits": [1.0]}, "'logits' must hold lists of floats, not double"),
        ({"id": [1.5]}, "'id' must hold strings or whole numbers, not double"),
        ({"query": [[[1.0]]]}, "'query' must hold bytes, text, numbers or lists of numbers"),
    ):
        with pytest.raises(ValueError, match=said):
            column_types(table(path, **(good | changed)), NAMES)
    del good["query"]
    with pytest.raises(ValueError, match=r"needs one column 'query' of bytes.*it has id, logits"):
        column_types(table(path, **good), NAMES)
    column_types(table(path, **good), PLAIN)


def test_the_first_row_that_can_be_used_says_how_many_classes_there_are(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    floats = pa.list_(pa.float32())
    bad = [None, [1.0], [], [1.0, None], [float("nan"), 1.0], [1.0, float("inf"), 1.0, 2.0]]
    for rows, width in (
        ([[1.0, 2.0, 3.0], [1.0]], 3),
        ([*bad, [1.0, 2.0, 3.0], [1.0, 2.0]], 3),
        (bad * 100, None),
        ([*bad * 100, [1.0, 2.0]], 2),
        ([], None),
    ):
        assert first_width(table(path, logits=pa.array(rows, floats)), PLAIN) == width
    for size, width in ((5, 5), (1, None)):
        fixed = pa.array([[float("nan")] * size], pa.list_(pa.float32(), size))
        assert first_width(table(path, logits=fixed), PLAIN) == width
        assert first_width(table(path, logits=fixed[:0]), PLAIN) is None


def test_rows_of_another_number_of_classes_are_refused() -> None:
    rows = [[1.0, 2.0, 3.0], [1.0, 2.0], None, [], [3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]]
    query = pa.array(range(6))
    released = release(KEYED, batch(rows, query), NAMES, 3)
    assert released.refused == {
        1: "has 2 logits, others have 3",
        2: 'has no "logits", or not all of it',
        3: "has 0 logits, others have 3",
        5: "has 4 logits, others have 3",
    }
    expected = KEYED(np.array([rows[0], rows[4]]), queries=np.array([0, 4]))
    assert lists(released) == expected.tolist()


def test_all_files_hold_the_same_whatever_they_call_a_list(tmp_path: Path) -> None:
    one = {"id": [1], "logits": [[1.0, 2.0]], "query": [[1, 2]]}
    shape = pa.list_(pa.field("number", pa.int64()), 2)
    first = table(tmp_path / "a.parquet", **one)
    again = table(tmp_path / "b.parquet", **(one | {"query": pa.array([[3, 4]], shape)}))
    types = {"id": "int64", "logits": "list of double", "query": "list of int64"}
    assert common_types([first, again], NAMES) == types
    for name, column in (
        ("id", pa.array([1], pa.int32())),
        ("logits", pa.array([[1.0, 2.0]], pa.list_(pa.float32()))),
        ("query", pa.array([[1, 2]], pa.list_(pa.int32()))),
    ):
        other = table(tmp_path / "c.parquet", **(one | {name: column}))
        said = rf"c\.parquet: column '{name}' holds .*, and that of a\.parquet {types[name]}"
        with pytest.raises(ValueError, match=said):
            common_types([first, again, other], NAMES)
