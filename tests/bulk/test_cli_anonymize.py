"""``dynaserve bulk anonymize``, with threads for workers."""

from __future__ import annotations

import errno
import json
import os
import pickle
import re
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from dynaserve.bulk.cluster import Place
from dynaserve.bulk.errors import StoppedError
from dynaserve.bulk.output import Output, opened
from dynaserve.bulk.shards import Format
from dynaserve.cli import app, bulk_records, bulk_texts
from dynaserve.cli.anonymize_records import Fields
from dynaserve.cli.bulk_texts import Texts
from dynaserve.rlaa import records
from dynaserve.rlaa.llm import hub
from dynaserve.serving.settings import AnonymizationSettings
from tests.bulk.tables import undecoded
from tests.bulk.texts import comments, read, write

pytestmark = pytest.mark.usefixtures("here")
SECRET = "jo.marsh"


def bulk(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["bulk", "anonymize", *map(str, arguments)])


def test_it_does_what_the_single_command_does(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", comments(60))
    result = bulk(source, tmp_path / "out", "--unit-bytes", 1024, "--json")
    assert result.exit_code == 0, result.output
    totals = json.loads(result.stdout)
    assert totals == {"rows": 60, "done_before": 0, "rejects": 0, "output": str(tmp_path / "out")}
    single = CliRunner().invoke(app, ["anonymize", str(source)])
    assert read(tmp_path / "out") == [json.loads(line) for line in single.stdout.splitlines()]
    assert SECRET not in json.dumps(read(tmp_path / "out"))
    assert len(list((tmp_path / "out").glob("part-*"))) > 3
    again = bulk(source, tmp_path / "out", "--unit-bytes", 1024)
    assert (again.exit_code, again.stdout) == (
        0,
        f"60 rows, 60 of them done before, in {tmp_path / 'out'}\n",
    )


def test_progress_is_json_lines_without_a_terminal(tmp_path: Path) -> None:
    result = bulk(write(tmp_path / "a.jsonl", comments(10)), tmp_path / "out")
    told = [json.loads(line) for line in result.stderr.splitlines()]
    assert told[0]["dashboard"].startswith("http://")
    assert told[1]["step"] == "survey"
    last = {name: told[-1][name] for name in ("step", "done", "total", "rejects", "workers")}
    assert last == {"step": "anonymize", "done": 10, "total": 10, "rejects": 0, "workers": 2}
    assert told[-1]["rows_per_second"] > 0
    assert told[-1]["eta_seconds"] == 0


def test_parquet_comes_out_as_parquet_with_the_names_that_came_in(tmp_path: Path) -> None:
    rows = comments(40)
    table = pa.table({"n": range(40), "body": [str(row["text"]) for row in rows]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=16)
    result = bulk(tmp_path / "a.parquet", tmp_path / "out", "--field", "body", "--id", "n")
    assert result.exit_code == 0, result.output
    out = pq.read_table(tmp_path / "out")
    assert out.column_names == ["n", "status", "body"]
    assert out["n"].to_pylist() == list(range(40))
    lines = write(
        tmp_path / "b.jsonl", [{"n": n, "body": row["text"]} for n, row in enumerate(rows)]
    )
    bulk(lines, tmp_path / "lines", "--field", "body", "--id", "n")
    assert out.to_pylist() == read(tmp_path / "lines")


BAD = {
    "the line: is not JSON in UTF-8": '{"id": 1, "text": "secret-1"',
    "the line: an object holds a key twice": '{"id": 2, "text": "secret-2", "text": "x"}',
    '"id" is neither a string nor a whole number': '{"id": 1.5, "text": "secret-3"}',
    'has no string "text"': '{"id": "b", "text": ["secret-4"]}',
    "holds half a character (a lone surrogate)": '{"id": "c", "text": "secret-5 \\ud800"}',
}


def test_rows_that_are_no_texts_are_rejected_and_stop_no_other(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", comments(5))
    with source.open("a") as file:
        file.write("\n".join(["", *BAD.values(), ""]))
    result = bulk(source, tmp_path / "out")
    assert result.exit_code == 1, result.output
    assert f"5 rejects in {tmp_path / 'out' / '_rejects.jsonl'}" in result.stdout
    rejects = (tmp_path / "out" / "_rejects.jsonl").read_text()
    told = [json.loads(line) for line in rejects.splitlines()]
    assert [each["reason"] for each in told] == list(BAD)
    assert [each["id"] for each in told] == [None, None, None, "b", "c"]
    assert told[0]["place"] == "a.jsonl, row 6"
    assert {each["status"] for each in told} == {"invalid"}
    assert "secret" not in rejects + result.output
    assert len(read(tmp_path / "out")) == 5
    assert bulk(source, tmp_path / "out").exit_code == 1


class Odd:
    """Does otherwise for some words."""

    def run(self, text: str, **_: Any) -> records.Result:
        if "Porto" in text:
            raise KeyError(text)
        if "Denver" in text:
            return records.Result(records.Status.BUDGET_EXHAUSTED, None, reason="rounds ran out")
        if "Edinburgh" in text:
            return records.Result(records.Status.CLEAN, "another text")
        if "memory" in text:
            raise MemoryError
        if "disk" in text:
            raise OSError(errno.ENOSPC, "No space left on device", text)
        if "outage" in text:
            return records.Result(records.Status.FAILED, None, reason="no answer", outage=True)
        return records.Result(records.Status.CLEAN, text)


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_texts, "make_anonymizers", lambda _: {"edit": Odd()})


@pytest.mark.usefixtures("odd")
@pytest.mark.parametrize("kept", [False, True])
def test_what_is_not_releasable_is_never_written(tmp_path: Path, kept: bool) -> None:
    rows = comments(5)
    source = write(tmp_path / "a.jsonl", rows)
    result = bulk(source, tmp_path / "out", *["--rejected-texts"] * kept)
    assert result.exit_code == 1
    assert [line["id"] for line in read(tmp_path / "out")] == ["c2", "c3"]
    rejects = (tmp_path / "out" / "_rejects.jsonl").read_text()
    told = [json.loads(line) for line in rejects.splitlines()]
    assert [(each["id"], each["status"], each["reason"]) for each in told] == [
        ("c0", "failed", "KeyError"),
        ("c1", "failed", "ValueError"),
        ("c4", "budget_exhausted", "rounds ran out"),
    ]
    texts = [rows[number]["text"] for number in (0, 1, 4)]
    assert [each.get("text") for each in told] == (texts if kept else [None] * 3)
    assert "Porto" not in result.output


@pytest.mark.usefixtures("odd")
def test_a_model_that_is_not_there_stops_the_run_and_rejects_nothing(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", [{"id": 1, "text": "an outage"}])
    result = bulk(source, tmp_path / "out")
    assert result.exit_code == 2
    assert "error: anonymize: the model is not there: no answer" in result.stderr
    assert not list((tmp_path / "out").glob("part-*"))


@pytest.mark.usefixtures("odd")
def test_a_worker_without_memory_says_nothing_of_the_text(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", [{"id": 1, "text": "memory"}])
    assert bulk(source, tmp_path / "out").exit_code == 3
    assert not list((tmp_path / "out").glob("part-*"))


@pytest.mark.usefixtures("odd")
def test_a_worker_without_room_stops_the_run_and_rejects_nothing(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", [{"id": 1, "text": "a full disk"}])
    result = bulk(source, tmp_path / "out")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert "a full disk" not in result.stderr
    assert not list((tmp_path / "out").glob("part-*"))


def test_a_table_of_replacements_that_is_out_of_use_rejects_nothing(
    tmp_path: Path, keyfile: Path
) -> None:
    texts = [{"id": n, "text": f"Call me at 020 7946 001{n}."} for n in range(3)]
    source = write(tmp_path / "a.jsonl", texts)
    keyfile.with_name(f"{keyfile.name}.sqlite").write_bytes(
        b"no table, but long enough for one" * 9
    )
    result = bulk(source, tmp_path / "out", "--consistent", keyfile)
    assert result.exit_code == 2, result.output
    assert f"cannot read or write the table of replacements beside {keyfile}" in result.stderr
    assert not list((tmp_path / "out").glob("part-*"))
    assert not list((tmp_path / "out").glob("_rejects*"))
    keyfile.with_name(f"{keyfile.name}.sqlite").unlink()
    assert bulk(source, tmp_path / "out", "--consistent", keyfile).exit_code == 0


def everything(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


@pytest.mark.parametrize("inside", ["key", "deep/key", ""])
@pytest.mark.parametrize("holds", ["", "thesis.txt"])
def test_a_key_that_would_be_passed_on_with_the_output_is_refused_and_not_made(
    tmp_path: Path, inside: str, holds: str
) -> None:
    source, out = write(tmp_path / "a.jsonl", comments(3)), tmp_path / "out"
    if holds:
        (out / "deep").mkdir(parents=True)
        (out / holds).write_text("mine")
    before = everything(tmp_path)
    result = bulk(source, out, "--consistent", out / inside)
    assert result.exit_code == 2
    assert f"is inside of {out}, whose files are passed on" in result.stderr
    assert everything(tmp_path) == before
    assert out.exists() == bool(holds)


@pytest.mark.parametrize(
    "fault", ["somebody else's", "a file", "in a file", "in the input", "another run's", "in use"]
)
def test_no_key_is_made_for_an_output_that_cannot_be_used(tmp_path: Path, fault: str) -> None:
    source, out = write(tmp_path / "in" / "a.jsonl", comments(3)), tmp_path / "out"
    if fault == "somebody else's":
        out.mkdir()
        (out / "thesis.txt").write_text("mine")
    elif fault == "a file":
        out.write_text("mine")
    elif fault == "in a file":
        (tmp_path / "file").write_text("mine")
        out = tmp_path / "file" / "out"
    elif fault == "in the input":
        source, out = source.parent, tmp_path / "in" / "out"
    elif fault == "another run's":
        assert bulk(source, out).exit_code == 0
    (tmp_path / "keys").mkdir(mode=0o700)
    with opened(out, "jsonl") if fault == "in use" else nullcontext():
        before = everything(tmp_path)
        result = bulk(source, out, "--consistent", tmp_path / "keys" / "key")
    assert result.exit_code == 2
    said = {
        "in a file": "Not a directory",
        "in use": "another run writes to it",
        "somebody else's": "is not empty: holds thesis.txt",
        "a file": "is a file; name a directory to write to",
        "in the input": "is inside of the input",
        "another run's": "is not there, and a new key is another one than what is in",
    }
    assert said[fault] in result.stderr
    assert everything(tmp_path) == before


@pytest.mark.parametrize("step", ["begin", "gather_rejects"])
def test_a_disk_that_the_command_itself_finds_full_is_named_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    source, out = write(tmp_path / "a.jsonl", comments(3)), tmp_path / "out"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Output, step, full)
        result = bulk(source, out)
    assert result.exit_code == 2
    said = f"error: anonymize: {out}: No space left on device; what is done is kept: the same"
    assert said in result.stderr
    assert bulk(source, out).exit_code == 0


def test_a_line_without_an_end_is_a_reject_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "a.jsonl", comments(2))
    with source.open("a") as file:
        file.write("x" * 5000)
    short = partial(bulk_records.read_lines, longest=1000)
    monkeypatch.setattr(bulk_records, "read_lines", short)
    assert bulk(source, tmp_path / "out", "--unit-bytes", 1024).exit_code == 1
    (reject,) = map(json.loads, (tmp_path / "out" / "_rejects.jsonl").read_text().splitlines())
    assert (reject["place"], reject["reason"]) == (
        "a.jsonl, row 3",
        "the line: is longer than 16 MiB",
    )
    assert len(read(tmp_path / "out")) == 2


def test_a_model_file_is_for_one_worker_unless_more_are_asked_for(
    tmp_path: Path, here: list[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_texts, "make_anonymizers", lambda _: {"edit": Odd()})
    model = tmp_path / "m.gguf"
    model.write_bytes(b"GGUF")
    source = write(tmp_path / "a.jsonl", comments(5)[3:4])
    for number, options in enumerate(([], ["--workers", 3], ["--scheduler", "tcp://x:1"])):
        result = bulk(source, tmp_path / f"out-{number}", "--model", model, *options)
        assert result.exit_code == 0, result.output
    assert here == [Place(1), Place(3), Place(None, "tcp://x:1")]


@pytest.mark.usefixtures("odd")
def test_a_model_of_the_hub_is_downloaded_once_for_one_worker(
    tmp_path: Path, here: list[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []
    monkeypatch.setattr(hub, "weights", lambda model: asked.append((model, len(here))))
    source = write(tmp_path / "a.jsonl", comments(5)[3:4])
    model = "acme/tiny:tiny-q4.gguf"
    for number, options in enumerate(([], ["--workers", 3], ["--scheduler", "tcp://x:1"])):
        result = bulk(source, tmp_path / f"out-{number}", "--model", model, *options)
        assert result.exit_code == 0, result.output
    assert here == [Place(1), Place(3), Place(None, "tcp://x:1")]
    assert asked == [(model, 0), (model, 1)], "before workers are there; those of a cluster do"
    assert (
        json.loads((tmp_path / "out-0" / "_ledger.json").read_text())["configuration"]["model"]
        == model
    )


def test_a_model_that_is_nowhere_is_said_before_anything_is_written(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", comments(5))
    result = bulk(source, tmp_path / "out", "--model", tmp_path / "no.gguf")
    assert result.exit_code == 2
    assert "there is no file" in result.stderr
    assert not (tmp_path / "out").exists()


def test_another_configuration_is_refused_by_name(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", comments(5))
    bulk(source, tmp_path / "out")
    result = bulk(source, tmp_path / "out", "--attributes", "age", "--max-rounds", 2)
    assert result.exit_code == 2
    assert "attributes was None and is ['age']" in result.stderr
    assert "max_rounds was 3 and is 2" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--field", "body"], 'has no string "body"; name the fields with --field and --id'),
        (["--mode", "rewrite"], "mode rewrite needs a model"),
        (["--attributes", "shoe"], "name some of age"),
        (["--workers", 2, "--scheduler", "tcp://127.0.0.1:1"], "--scheduler uses those"),
        (["--id", "status"], "--field and --id must differ"),
    ],
)
def test_wrong_use_is_one_clear_line(tmp_path: Path, arguments: list[object], said: str) -> None:
    result = bulk(write(tmp_path / "a.jsonl", comments(5)), tmp_path / "out", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_parquet_without_the_columns_is_told_which_it_has(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "body": ["x"]}), tmp_path / "a.parquet")
    result = bulk(tmp_path / "a.parquet", tmp_path / "out")
    assert "a.parquet: needs one column 'text' (--field); it has id, body" in result.stderr
    pq.write_table(pa.table({"id": [1.5], "text": ["x"]}), tmp_path / "a.parquet")
    result = bulk(tmp_path / "a.parquet", tmp_path / "out")
    assert "column 'id' must hold strings or whole numbers" in result.stderr


def test_a_parquet_row_that_is_not_utf_8_is_rejected_alone(tmp_path: Path) -> None:
    texts = undecoded([b"fine", b"\xff"], pa.string())
    pq.write_table(pa.table({"id": [1, 2], "text": texts}), tmp_path / "a.parquet")
    assert bulk(tmp_path / "a.parquet", tmp_path / "out").exit_code == 1
    assert pq.read_table(tmp_path / "out")["text"].to_pylist() == ["fine"]
    reject = json.loads((tmp_path / "out" / "_rejects.jsonl").read_text())
    assert reject == {
        "id": 2,
        "place": "a.parquet, row 2",
        "status": "invalid",
        "reason": 'its "text" is not UTF-8',
    }


def test_a_parquet_id_that_is_not_utf_8_is_rejected_alone(tmp_path: Path) -> None:
    table = pa.table({"id": undecoded([b"a", b"b\xff"], pa.string()), "text": ["fine", "fine"]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert bulk(tmp_path / "a.parquet", tmp_path / "out").exit_code == 1
    assert pq.read_table(tmp_path / "out")["id"].to_pylist() == ["a"]
    reject = json.loads((tmp_path / "out" / "_rejects.jsonl").read_text())
    assert (reject["id"], reject["reason"]) == (None, 'its "id" is not UTF-8')


def test_a_bug_in_a_worker_is_not_the_users_mistake_and_quotes_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dask_log: pytest.LogCaptureFixture
) -> None:
    def written(_: object, lines: list[object], __: object) -> bytes:
        raise ValueError(f"what to do with {lines}?")

    monkeypatch.setattr(bulk_texts, "written", written)
    source = write(tmp_path / "a.jsonl", comments(5))
    result = bulk(source, tmp_path / "out")
    assert result.exit_code == 3
    where = f"a.jsonl, bytes 0 to {source.stat().st_size}"
    said = f"internal error: UnforeseenError: {where}: ValueError in a worker"
    assert result.stderr.splitlines()[-1].startswith(said)
    assert "UnforeseenError" in dask_log.text
    for shown in (result.output, result.stderr, dask_log.text):
        assert "what to do with" not in shown


def test_a_server_with_a_password_in_its_url_is_refused_before_anything_is_written(
    tmp_path: Path, here: list[Place]
) -> None:
    source = write(tmp_path / "a.jsonl", comments(5))
    for options in ([], ["--scheduler", "tcp://127.0.0.1:1"]):
        server = ["--model", "m", "--server", "http://jo:hunter2@127.0.0.1:9/v1", *options]
        result = bulk(source, tmp_path / "out", *server)
        assert result.exit_code == 2
        assert "a key goes into api_key" in result.stderr
        assert "hunter2" not in result.output + result.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl"}
    assert here == []


@pytest.mark.usefixtures("odd")
def test_a_server_has_a_worker_for_each_core(tmp_path: Path, here: list[Place]) -> None:
    source = write(tmp_path / "a.jsonl", comments(5)[3:4])
    server = ["--model", "m", "--server", "http://127.0.0.1:9/v1"]
    assert bulk(source, tmp_path / "out", *server).exit_code == 0
    assert here == [Place(None)]


def test_no_texts_are_nothing_to_do(tmp_path: Path) -> None:
    assert bulk(write(tmp_path / "a.jsonl", []), tmp_path / "out").exit_code == 5


@pytest.fixture
def keyfile(tmp_path: Path) -> Path:
    directory = tmp_path / "keys"
    directory.mkdir(mode=0o700)
    return directory / "pseudonyms"


def job(keyfile: Path) -> Texts:
    settings = AnonymizationSettings(consistent=str(keyfile))
    return Texts.by(settings, Fields("text", "id"), Format.JSONL, keep_texts=False)


def test_a_value_is_replaced_by_the_same_in_all_units(tmp_path: Path, keyfile: Path) -> None:
    rows = [{"id": n, "text": f"Call me at 020 7946 0018, {'very ' * n}."} for n in range(30)]
    source = write(tmp_path / "a.jsonl", rows)
    result = bulk(source, tmp_path / "out", "--consistent", keyfile, "--unit-bytes", 1024)
    assert result.exit_code == 0, result.output
    said = {str(line["text"]).partition(",")[0] for line in read(tmp_path / "out")}
    assert len(said) == 1
    assert len(list((tmp_path / "out").glob("part-*"))) > 2


def test_the_pseudonym_key_is_in_nothing_that_travels_or_is_written(
    tmp_path: Path, keyfile: Path
) -> None:
    source = write(tmp_path / "a.jsonl", comments(5))
    result = bulk(source, tmp_path / "out", "--consistent", keyfile)
    travels = job(keyfile)
    every = pickle.dumps(travels) + repr(travels).encode() + result.output.encode()
    every += b"".join(path.read_bytes() for path in (tmp_path / "out").glob("*") if path.is_file())
    key = keyfile.read_bytes()
    assert not any(form in every for form in (key, key.hex().encode()))


def test_a_worker_with_another_pseudonym_key_or_none_does_not_start(keyfile: Path) -> None:
    begun = job(keyfile)
    begun.start()
    keyfile.unlink()
    with pytest.raises(StoppedError, match="does not see the key file"):
        begun.start()
    assert not keyfile.exists()
    keyfile.write_bytes(bytes(range(32)))
    keyfile.chmod(0o600)
    with pytest.raises(StoppedError, match="has another key in"):
        begun.start()


def test_a_worker_that_cannot_make_the_anonymizer_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_: object) -> None:
        raise ImportError("needs the extra")

    monkeypatch.setattr(bulk_texts, "make_anonymizers", missing)
    result = bulk(write(tmp_path / "a.jsonl", comments(5)), tmp_path / "out")
    assert result.exit_code == 2
    assert re.search(r"error: anonymize: a worker on \S+: needs the extra", result.stderr)


def with_model(path: Path) -> Texts:
    settings = AnonymizationSettings(model=str(path))
    return Texts.by(settings, Fields("text", "id"), Format.JSONL, keep_texts=False)


def test_another_model_file_is_another_configuration_and_the_same_elsewhere_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_texts, "_END", 2)
    model = tmp_path / "m.gguf"
    model.write_bytes(b"0123456789")
    before = with_model(model).configuration()
    other = tmp_path / "other" / "m.gguf"
    other.parent.mkdir()
    model.rename(other)
    os.utime(other, (1, 1))
    assert with_model(other).configuration() == before
    for content in (b"0123456780", b"1123456789", b"01234567890"):
        other.write_bytes(content)
        now = with_model(other).configuration()
        assert {name for name in before if now[name] != before[name]} == {"model"}
    renamed = other.rename(other.with_name("n.gguf"))
    assert with_model(renamed).configuration()["model"]["name"] == "n.gguf"


def test_a_worker_with_another_model_file_or_none_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_texts, "make_anonymizers", lambda _: {"edit": Odd()})
    model = tmp_path / "m.gguf"
    model.write_bytes(b"0123456789")
    begun = with_model(model)
    begun.start()
    for change in (lambda: model.write_bytes(b"9876543210"), model.unlink):
        change()
        with pytest.raises(StoppedError, match=rf"^the worker on \S+ has another model in {model}"):
            begun.start()
