"""``dynaserve bulk defend``, with threads for workers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from dynaserve import DynaNoise, RankTemplate
from dynaserve.cli import app
from dynaserve.defenses import Undefended
from tests.bulk.tables import Table, damaged, released, undecoded

pytestmark = pytest.mark.usefixtures("here")
SECRET = bytes(range(200, 232))
VERSION = "digits-1"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", SECRET.hex())


def bulk(*arguments: object, version: str = VERSION) -> Result:
    told = ["--model-version", version] if version else []
    return CliRunner().invoke(app, ["bulk", "defend", *map(str, arguments), *told])


def keyed() -> DynaNoise:
    return DynaNoise.keyed(SECRET, model_version=VERSION)


@pytest.mark.parametrize("unit_bytes", [1024, 4000, 1 << 24])
def test_it_equals_one_call_however_it_is_cut(
    tmp_path: Path, logits: Table, unit_bytes: int
) -> None:
    result = bulk(logits.path, tmp_path / "out", "--unit-bytes", unit_bytes, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rows"] == 500
    ids, labels, probabilities = released(tmp_path / "out")
    expected = keyed()(logits.logits, queries=logits.queries)
    assert ids == logits.ids
    np.testing.assert_array_equal(probabilities, expected)
    np.testing.assert_array_equal(labels, expected.argmax(axis=1))


def test_a_directory_is_one_input(tmp_path: Path) -> None:
    values = np.random.default_rng(3).normal(size=(90, 4))
    tables = [Table(tmp_path / "in" / f"{n}.parquet", values[n : n + 30], n) for n in (0, 30, 60)]
    for table in tables:
        table.write()
    assert bulk(tmp_path / "in", tmp_path / "out").exit_code == 0
    ids, _, probabilities = released(tmp_path / "out")
    assert ids == [own for table in tables for own in table.ids]
    queries = np.concatenate([table.queries for table in tables])
    np.testing.assert_array_equal(probabilities, keyed()(values, queries=queries))


def test_a_saved_template_is_used_and_needs_no_query(tmp_path: Path, logits: Table) -> None:
    generator = np.random.default_rng(0)
    template = RankTemplate.calibrate(
        generator.normal(size=(400, 7)), generator.integers(0, 7, 400)
    )
    template.save(tmp_path / "defense.toml")
    pq.write_table(pq.read_table(logits.path).drop(["query"]), logits.path)
    result = bulk(logits.path, tmp_path / "out", "--defense", tmp_path / "defense.toml")
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(released(tmp_path / "out")[2], template(logits.logits))


def test_the_query_may_be_any_column(tmp_path: Path, logits: Table) -> None:
    assert bulk(logits.path, tmp_path / "a", "--query-from", "logits").exit_code == 0
    expected = keyed()(logits.logits, queries=logits.logits)
    np.testing.assert_array_equal(released(tmp_path / "a")[2], expected)
    assert bulk(logits.path, tmp_path / "b", "--query-from", "id").exit_code == 0
    queries = [own.encode() for own in logits.ids]
    expected = keyed()(logits.logits, queries=queries)
    np.testing.assert_array_equal(released(tmp_path / "b")[2], expected)


def test_the_same_query_gets_the_same_noise_in_any_row_and_unit(tmp_path: Path) -> None:
    values = np.tile(np.random.default_rng(0).normal(size=(1, 5)), (300, 1))
    table = Table(tmp_path / "x.parquet", values).write()
    bulk(table.path, tmp_path / "out", "--query-from", "logits", "--unit-bytes", 1024)
    assert len(np.unique(released(tmp_path / "out")[2], axis=0)) == 1
    assert len(list((tmp_path / "out").glob("part-*"))) > 3


def test_bad_rows_are_rejected_and_the_exit_code_says_so(tmp_path: Path, logits: Table) -> None:
    logits.logits[17, 3] = np.nan
    logits.write(row_group_size=120)
    result = bulk(logits.path, tmp_path / "out")
    assert result.exit_code == 1
    ids, _, probabilities = released(tmp_path / "out")
    good = np.delete(np.arange(500), 17)
    assert ids == [logits.ids[row] for row in good]
    expected = keyed()(logits.logits[good], queries=logits.queries[good])
    np.testing.assert_array_equal(probabilities, expected)
    reject = json.loads((tmp_path / "out" / "_rejects.jsonl").read_text())
    assert (reject["id"], reject["place"]) == ("row-17", "logits.parquet, row 18")


@pytest.mark.parametrize("unit_bytes", [1024, 1 << 24])
def test_odd_rows_are_rejects_wherever_they_stand(tmp_path: Path, unit_bytes: int) -> None:
    good = np.random.default_rng(0).normal(size=(600, 5))
    odd = {0: [1.0], 1: [float("nan"), 1.0], 300: [1.0, 2.0], 599: [0.0] * 6}
    (tmp_path / "in").mkdir()
    for number, rows in enumerate((range(400), range(400, 600))):
        logits = pa.array([odd.get(row, list(good[row])) for row in rows])
        columns = {"id": list(rows), "logits": logits, "query": list(rows)}
        pq.write_table(pa.table(columns), tmp_path / "in" / f"{number}.parquet", row_group_size=50)
    result = bulk(tmp_path / "in", tmp_path / "out", "--unit-bytes", unit_bytes)
    assert result.exit_code == 1, result.output
    kept = np.delete(np.arange(600), list(odd))
    ids, _, probabilities = released(tmp_path / "out")
    assert ids == kept.tolist()
    np.testing.assert_array_equal(probabilities, keyed()(good[kept], queries=kept))
    written = (tmp_path / "out" / "_rejects.jsonl").read_text()
    rejects = [json.loads(line) for line in written.splitlines()]
    assert [(each["place"], each["reason"]) for each in rejects] == [
        ("0.parquet, row 1", "has 1 logits, others have 5"),
        ("0.parquet, row 2", "has 2 logits, others have 5"),
        ("0.parquet, row 301", "has 2 logits, others have 5"),
        ("1.parquet, row 200", "has 6 logits, others have 5"),
    ]
    again = bulk(tmp_path / "in", tmp_path / "out", "--unit-bytes", unit_bytes, "--json")
    assert json.loads(again.stdout)["done_before"] == 600


def test_the_key_is_in_no_file_and_no_message(tmp_path: Path, logits: Table) -> None:
    result = bulk(logits.path, tmp_path / "out")
    every = result.output.encode()
    every += b"".join(path.read_bytes() for path in (tmp_path / "out").glob("*") if path.is_file())
    assert SECRET not in every
    assert SECRET.hex().encode() not in every


def test_keyed_noise_is_for_one_version_of_a_model(tmp_path: Path, logits: Table) -> None:
    refused = bulk(logits.path, tmp_path / "out", version="")
    assert refused.exit_code == 2
    assert "keyed noise is for one version of a model: give --model-version" in refused.stderr
    assert not (tmp_path / "out").exists()

    bulk(logits.path, tmp_path / "out")
    ledger = json.loads((tmp_path / "out" / "_ledger.json").read_text())
    assert ledger["configuration"]["parameters"]["model_version"] == VERSION
    other = bulk(logits.path, tmp_path / "out", version="digits-2")
    assert (other.exit_code, "'model_version': 'digits-2'" in other.stderr) == (2, True)


def test_a_defense_file_may_say_the_version_and_then_says_it(tmp_path: Path, logits: Table) -> None:
    file = tmp_path / "defense.toml"
    keyed().save(file)
    assert bulk(logits.path, tmp_path / "out", "--defense", file, version="").exit_code == 0
    expected = keyed()(logits.logits, queries=logits.queries)
    np.testing.assert_array_equal(released(tmp_path / "out")[2], expected)
    refused = bulk(logits.path, tmp_path / "out", "--defense", file, version="digits-2")
    assert refused.exit_code == 2
    assert f"the defense file is for model version {VERSION}" in refused.stderr


def test_files_of_two_kinds_of_query_are_refused_before_anything_is_written(
    tmp_path: Path, logits: Table
) -> None:
    one = pq.read_table(logits.path)
    (tmp_path / "in").mkdir()
    pq.write_table(one.slice(0, 250), tmp_path / "in" / "a.parquet")
    rest, numbers = one.slice(250), logits.queries[250:].astype(np.float32)
    same_numbers = pa.array(list(numbers))
    rest = rest.set_column(rest.schema.get_field_index("query"), "query", same_numbers)
    pq.write_table(rest, tmp_path / "in" / "b.parquet")
    refused = bulk(tmp_path / "in", tmp_path / "out")
    assert refused.exit_code == 2
    said = "b.parquet: column 'query' holds list of float, and that of a.parquet list of double"
    assert said in refused.stderr
    assert not (tmp_path / "out").exists()


def test_another_kind_of_query_is_another_run(tmp_path: Path, logits: Table) -> None:
    bulk(logits.path, tmp_path / "out")
    ledger = json.loads((tmp_path / "out" / "_ledger.json").read_text())
    types = {"id": "string", "logits": "list of float", "query": "list of double"}
    assert ledger["configuration"]["types"] == types


def test_another_key_is_refused_without_showing_either(
    tmp_path: Path, logits: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    bulk(logits.path, tmp_path / "out")
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", bytes(range(32)).hex())
    result = bulk(logits.path, tmp_path / "out")
    assert result.exit_code == 2
    assert "key was '" in result.stderr
    assert SECRET.hex()[:16] not in result.stderr


def test_scores_as_they_are_take_a_second_word(tmp_path: Path, logits: Table) -> None:
    Undefended().save(tmp_path / "none.toml")
    options = (logits.path, tmp_path / "out", "--defense", tmp_path / "none.toml")
    refused = bulk(*options)
    assert (refused.exit_code, "say --undefended too" in refused.stderr) == (2, True)
    assert bulk(*options, "--undefended").exit_code == 0


def test_fresh_noise_needs_no_key(
    tmp_path: Path, logits: Table, state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DYNASERVE_NOISE_KEY")
    result = bulk(logits.path, tmp_path / "out", "--defense", "dynanoise-paper")
    assert result.exit_code == 0, result.output
    assert released(tmp_path / "out")[2].shape == (500, 7)
    assert not state_directory.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--defense", "strong"], "--defense strong: there is no such file; choose dynanoise"),
        (["--query-from", "input"], "needs one column 'input'"),
        (
            ["--logits", "query", "--query-from", "id", "--id", "logits"],
            "'logits' must hold strings",
        ),
    ],
)
def test_wrong_use_is_one_clear_line(
    tmp_path: Path, logits: Table, arguments: list[str], said: str
) -> None:
    result = bulk(logits.path, tmp_path / "out", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_file_that_is_no_defense_is_said(tmp_path: Path, logits: Table) -> None:
    (tmp_path / "x.toml").write_text("a = 1")
    result = bulk(logits.path, tmp_path / "out", "--defense", tmp_path / "x.toml")
    assert result.exit_code == 2
    assert "x.toml: is not a defense file" in result.stderr


def test_rows_that_are_not_utf_8_stop_no_run(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    queries = [b"plain", b"x", b"not \xff"]
    columns = {
        "id": undecoded([b"a", b"hidden\xff", b"c"], pa.string()),
        "logits": list(values),
        "query": undecoded(queries, pa.string()),
    }
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    result = bulk(tmp_path / "x.parquet", tmp_path / "out")
    assert result.exit_code == 1, result.output
    ids, _, probabilities = released(tmp_path / "out")
    assert ids == ["a", "c"]
    expected = keyed()(values[[0, 2]], queries=[queries[0], queries[2]])
    np.testing.assert_array_equal(probabilities, expected)
    reject = json.loads((tmp_path / "out" / "_rejects.jsonl").read_text())
    assert (reject["id"], reject["place"]) == (None, "x.parquet, row 2")


def test_a_damaged_file_is_named_and_nothing_is_promised(tmp_path: Path) -> None:
    rows = {"id": np.arange(50_000), "logits": [[1.0, 2.0]] * 50_000, "query": [1] * 50_000}
    path = damaged(tmp_path / "x.parquet", pa.table(rows))
    result = bulk(path, tmp_path / "out")
    assert result.exit_code == 2
    assert "error: x.parquet: cannot be read as Parquet" in result.stderr
    assert "the same command goes on" not in result.stderr
