"""What workers write of conversations: the same as one process has, and no text."""

from __future__ import annotations

import io
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dynaserve.bulk.canary_jobs import Clusters, Vectors, terms_of
from dynaserve.bulk.errors import StoppedError
from dynaserve.bulk.job import Done
from dynaserve.bulk.shards import cut, find_shards
from dynaserve.canarybench.conversations import Conversation, write_conversations
from dynaserve.canarybench.corpus import generate
from dynaserve.canarybench.large import Model
from dynaserve.canarybench.large_release import LONGEST, user_hash
from dynaserve.canarybench.terms import count_terms

TALKS = generate(300, seed=1)


def table_of(done: Done) -> Any:
    return pq.read_table(io.BytesIO(done.content))


def vectors(path: Path, talks: list[Conversation], unit_bytes: int = 1 << 22) -> Any:
    write_conversations(path, talks)
    job = Vectors()
    work = job.start()
    return pa.concat_tables(table_of(work(unit, 0)) for unit in cut(find_shards(path), unit_bytes))


def test_terms_come_back_as_they_were_counted(tmp_path: Path) -> None:
    table = vectors(tmp_path / "a.jsonl", TALKS, 8192)
    assert table["id"].to_pylist() == [talk.id for talk in TALKS]
    assert table["user"].to_pylist() == [user_hash(talk.user) for talk in TALKS]
    assert all(table["quotable"].to_pylist())
    expected = count_terms([talk.text for talk in TALKS])
    start = 0
    for batch in table.to_batches():
        part = batch.slice(3)  # offsets that do not begin at 0
        rows = slice(start + 3, start + batch.num_rows)
        assert (terms_of(part) != expected[rows]).nnz == 0
        start += batch.num_rows


def test_no_text_is_in_what_is_written(tmp_path: Path) -> None:
    table = vectors(tmp_path / "a.jsonl", [Conversation("a", "jo marsh", "zanzibar quux")])
    assert set(table.column_names) == {"id", "user", "quotable", "terms", "counts"}
    written = str(table.to_pydict())
    assert "zanzibar" not in written
    assert "marsh" not in written


def test_long_conversations_are_marked_and_counts_end_somewhere(tmp_path: Path) -> None:
    texts = ["x" * LONGEST, "x" * (LONGEST + 1), "word " * 70_000]
    talks = [Conversation(str(at), "u", text) for at, text in enumerate(texts)]
    table = vectors(tmp_path / "a.jsonl", talks)
    assert table["quotable"].to_pylist() == [True, False, False]
    assert table["counts"].to_pylist()[2] == [65_535]


def test_a_unit_within_a_long_line_has_no_rows(tmp_path: Path) -> None:
    talks = [Conversation("a", "u", "parcel " * 1000), Conversation("b", "u", "late train")]
    table = vectors(tmp_path / "a.jsonl", talks, 1024)
    assert table["id"].to_pylist() == ["a", "b"]
    assert terms_of(table.combine_chunks().to_batches()[0]).sum() == 1002


def test_clusters_are_those_that_the_model_finds(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    counts = count_terms([talk.text for talk in TALKS])
    terms = np.unique(counts.indices)[:40].astype(np.int32)
    centroids = np.random.default_rng(0).random((40, 7)).astype(np.float32)
    model = Model(terms, np.ones(40, np.float32), centroids)
    model.save(tmp_path / "model.npz")
    table = vectors(tmp_path / "a.jsonl", TALKS)
    pq.write_table(table, tmp_path / "v" / "part-000000.parquet", row_group_size=70)
    job = Clusters.by(tmp_path / "model.npz")
    (unit,) = cut(find_shards(tmp_path / "v"), 1 << 22)
    assert [own for piece in job.ids(unit) for own in piece] == [talk.id for talk in TALKS]
    done = job.start()(unit, 0)
    found, expected = table_of(done), model.nearest(counts)
    assert done.rows == len(found) == 300
    assert found["user"].to_pylist() == table["user"].to_pylist()
    np.testing.assert_array_equal(found["cluster"].to_numpy(), expected.labels)
    np.testing.assert_array_equal(found["similarity"].to_numpy(), expected.similarity)
    np.testing.assert_array_equal(found["value"].to_numpy(), expected.value)


def test_a_worker_that_sees_other_clusters_does_not_start(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    one = Model(np.zeros(1, np.int32), np.ones(1, np.float32), np.ones((1, 2), np.float32))
    one.save(path)
    job = Clusters.by(path)
    job.start()
    replace(one, centroids=np.zeros((1, 2), np.float32)).save(path)
    with pytest.raises(StoppedError, match=rf"^the worker on \S+ has another {path} than this"):
        job.start()


def test_jobs_are_told_apart_by_what_they_work_with() -> None:
    job = Clusters(Path("model.npz"), "ab")
    assert hash(job) == hash(pickle.loads(pickle.dumps(job)))
    assert job != replace(job, digest="cd")
    assert job.configuration() == {"model": "ab"}
    assert Vectors() == Vectors() != job
