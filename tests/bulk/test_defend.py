from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dynaserve import DynaNoise, RankTemplate
from dynaserve.bulk.defend import Defending, key_check
from dynaserve.bulk.errors import StoppedError
from dynaserve.bulk.ids import is_id
from dynaserve.bulk.releasing import Columns
from dynaserve.bulk.shards import Unit, find_shards
from dynaserve.defenses import Undefended
from dynaserve.defenses.document import Document, read_document
from tests.bulk.tables import Table, undecoded

NAMES = Columns("id", "logits", "query")
SECRET = bytes(range(100, 132))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", SECRET.hex())
    return SECRET


def saved(defense: DynaNoise | RankTemplate | Undefended, directory: Path) -> Document:
    defense.save(directory / "defense.toml")
    return read_document(directory / "defense.toml")


def keyed(directory: Path) -> Defending:
    return Defending.by(
        saved(DynaNoise.keyed(SECRET, base_variance=0.3, model_version="1"), directory), NAMES
    )


def test_a_unit_is_defended_as_one_call_does_it(logits: Table, tmp_path: Path, key: bytes) -> None:
    (shard,) = find_shards(logits.path)
    done = keyed(tmp_path).start()(Unit(shard, 100, 300), 100)
    expected = DynaNoise.keyed(key, base_variance=0.3, model_version="1")(
        logits.logits, queries=logits.queries
    )
    table = pq.read_table(pa.BufferReader(done.content))
    assert table.column_names == ["id", "label", "probabilities"]
    assert table["id"].to_pylist() == logits.ids[100:300]
    assert table["probabilities"].to_pylist() == expected[100:300].tolist()
    assert table["label"].to_pylist() == expected[100:300].argmax(axis=1).tolist()
    assert (done.rows, done.rejects) == (200, ())


def test_a_bad_row_is_told_by_its_place_and_not_by_what_it_holds(
    tmp_path: Path,
) -> None:
    values = np.full((10, 3), 1234.5678)
    values[4, 1] = np.nan
    table = Table(tmp_path / "x.parquet", values).write()
    (shard,) = find_shards(table.path)
    (reject,) = keyed(tmp_path).start()(Unit(shard, 2, 10), 2).rejects
    assert json.loads(reject.line()) == {
        "id": "row-4",
        "place": "x.parquet, row 5",
        "status": "invalid",
        "reason": "its logits are refused by the defense (ValueError)",
    }


def test_an_id_that_is_not_utf_8_is_no_id_and_is_rejected_by_its_place(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    ids = undecoded([b"a", b"secret\xff", b"c"], pa.string())
    pq.write_table(pa.table({"id": ids, "logits": [[1.0, 2.0]] * 3, "query": [1, 2, 3]}), path)
    (shard,) = find_shards(path)
    job, unit = keyed(tmp_path), Unit(shard, 0, 3)
    (own,) = job.ids(unit)
    assert (own[0], own[2]) == ("a", "c")
    assert not is_id(own[1])
    done = job.start()(unit, 0)
    assert pq.read_table(pa.BufferReader(done.content))["id"].to_pylist() == ["a", "c"]
    (reject,) = done.rejects
    assert json.loads(reject.line()) == {
        "id": None,
        "place": "x.parquet, row 2",
        "status": "invalid",
        "reason": 'its "id" is not UTF-8',
    }


def test_the_key_is_in_nothing_that_travels_or_is_shown(tmp_path: Path, key: bytes) -> None:
    job = keyed(tmp_path)
    shown = pickle.dumps(job) + repr(job).encode() + json.dumps(job.configuration()).encode()
    assert key not in shown
    assert key.hex().encode() not in shown
    assert pickle.loads(pickle.dumps(job)) == job
    assert hash(pickle.loads(pickle.dumps(job))) == hash(job)


def test_a_worker_with_another_key_or_none_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = keyed(tmp_path)
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", bytes(range(32)).hex())
    with pytest.raises(StoppedError, match="another noise key") as raised:
        job.start()
    assert key_check() not in str(raised.value)
    monkeypatch.delenv("DYNASERVE_NOISE_KEY")
    with pytest.raises(StoppedError, match="has no noise key; give it DYNASERVE_NOISE_KEY"):
        job.start()
    assert not list(tmp_path.glob("state/*")), "a worker must not make a key of its own"


def test_another_key_is_another_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = keyed(tmp_path).configuration()
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", bytes(range(32)).hex())
    after = keyed(tmp_path).configuration()
    assert {name for name in before if before[name] != after[name]} == {"key"}


def test_a_defense_without_noise_of_a_key_needs_neither_key_nor_queries(
    tmp_path: Path, logits: Table, state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DYNASERVE_NOISE_KEY")
    generator = np.random.default_rng(0)
    held_out = generator.normal(size=(400, 7)), generator.integers(0, 7, 400)
    template = RankTemplate.calibrate(*held_out)
    for defense in (template, DynaNoise.paper(), Undefended()):
        job = Defending.by(saved(defense, tmp_path), NAMES)
        assert (job.key, job.columns.query) == (None, None)
    job = Defending.by(saved(template, tmp_path), NAMES)
    (shard,) = find_shards(logits.path)
    table = pq.read_table(pa.BufferReader(job.start()(Unit(shard, 0, 500), 0).content))
    assert table["probabilities"].to_pylist() == template(logits.logits).tolist()
    assert not state_directory.exists()


def test_a_defense_that_does_not_fit_is_told_before_the_run(tmp_path: Path, logits: Table) -> None:
    generator = np.random.default_rng(0)
    template = RankTemplate.calibrate(
        generator.normal(size=(400, 5)), generator.integers(0, 5, 400)
    )
    shards = find_shards(logits.path)
    with pytest.raises(ValueError, match="5"):
        Defending.by(saved(template, tmp_path), NAMES).for_input(shards)
    with pytest.raises(ValueError, match="'output'"):
        Defending.by(saved(template, tmp_path), Columns("id", "output", None)).for_input(shards)
    job = keyed(tmp_path).for_input(shards)
    assert dict(job.types)["query"] == "list of double"
    assert hash(pickle.loads(pickle.dumps(job))) == hash(job)


def test_keyed_noise_without_a_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="keyed noise is for one version of a model"):
        Defending.by(saved(DynaNoise.keyed(SECRET), tmp_path), NAMES)


def test_a_defense_that_needs_more_than_logits_is_refused() -> None:
    job = Defending.by(Document("public-reference", {}), NAMES)
    with pytest.raises(ValueError, match="'public-reference' needs more than logits"):
        job.defense()
