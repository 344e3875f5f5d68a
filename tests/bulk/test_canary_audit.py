"""``dynaserve bulk canary-audit``, with threads for workers."""

from __future__ import annotations

import errno
import json
import re
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from dynaserve import atomic, canarybench
from dynaserve.bulk import canary as canary_module
from dynaserve.bulk import canary_jobs
from dynaserve.bulk.canary import Corpus
from dynaserve.bulk.cluster import Place
from dynaserve.bulk.errors import StoppedError
from dynaserve.bulk.run import run
from dynaserve.canarybench import CanaryManifest, audit_release, plant
from dynaserve.canarybench.conversations import Conversation, write_conversations
from dynaserve.canarybench.corpus import generate
from dynaserve.cli import app
from dynaserve.cli.bulk_canary import STEPS

pytestmark = pytest.mark.usefixtures("here")
COUNT = 1200


@dataclass(frozen=True)
class Planted:
    """Planted conversations in shards, and the manifest."""

    path: Path
    talks: list[Conversation]
    manifest: CanaryManifest
    secret: Path


@pytest.fixture(scope="module")
def corpus() -> tuple[list[Conversation], CanaryManifest]:
    return plant(generate(COUNT, seed=1), probability=0.3, seed=1, decoys=100)


@pytest.fixture
def planted(tmp_path: Path, corpus: tuple[list[Conversation], CanaryManifest]) -> Planted:
    talks, manifest = corpus
    (tmp_path / "in").mkdir()
    for number in range(3):
        some = talks[number * 500 : (number + 1) * 500]
        write_conversations(tmp_path / "in" / f"{number}.jsonl", some)
    manifest.save(tmp_path / "secret.json")
    return Planted(tmp_path / "in", talks, manifest, tmp_path / "secret.json")


@pytest.fixture
def audit(planted: Planted, tmp_path: Path) -> Callable[..., Result]:
    def command(*options: object, source: Path = planted.path, out: str = "out") -> Result:
        arguments = ["bulk", "canary-audit", source, tmp_path / out]
        arguments += ["--manifest", planted.secret, "--unit-bytes", 1 << 16, *options]
        return CliRunner().invoke(app, [str(each) for each in arguments])

    return command


def released(out: Path, name: str = "release.json") -> Any:
    return json.loads((out / name).read_bytes())


def test_a_defended_release_passes_and_is_written(
    audit: Callable[..., Result], planted: Planted, tmp_path: Path
) -> None:
    result = audit("--summarizer", "extractive", "--json")
    assert result.exit_code == 0, result.stderr
    report, release = json.loads(result.stdout), released(tmp_path / "out")
    assert report["passed"]
    assert report["canary_rate"]["found"] == 0
    assert len(report["clusters"]) == len(release["clusters"]) > 5
    assert all(cluster["users"] >= 25 for cluster in release["clusters"])
    at_risk, held_back = report["canary_rate"]["total"], report["suppressed"]["canaries"]
    assert at_risk + held_back == len(planted.manifest.canaries)
    assert at_risk > 0
    assert held_back > 0
    assert not (tmp_path / "out" / "_leaking.json").exists()


def test_what_is_published_counts_as_a_plain_count_does(
    audit: Callable[..., Result], planted: Planted, tmp_path: Path
) -> None:
    everybody = [Conversation(each.id, each.user, "The train is late.") for each in planted.talks]
    users = len({each.user for each in planted.talks})
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.jsonl").write_text(
        "".join(
            json.dumps({"id": a.id, "user": a.user, "text": f"{a.text} {b.text}"}) + "\n"
            for a, b in zip(planted.talks, everybody, strict=True)
        )
    )
    result = audit("--clusters", 1, source=tmp_path / "one")
    assert result.exit_code == 0, result.stderr
    (cluster,) = released(tmp_path / "out")["clusters"]
    assert (cluster["users"], cluster["conversations"]) == (users, COUNT)


def test_the_audit_is_the_one_of_the_single_command(
    audit: Callable[..., Result], planted: Planted, tmp_path: Path
) -> None:
    options = ("--summarizer", "extractive", "--defense", "k-min", "--json")
    bulk = audit(*options)
    out = tmp_path / "out"
    arguments = ["canary", "audit", out / "_leaking.json", "--manifest", planted.secret]
    arguments += ["--clusters", out / "_clusters.json", "--json"]
    single = CliRunner().invoke(app, [str(each) for each in arguments])
    assert bulk.exit_code == single.exit_code == 1
    assert json.loads(bulk.stdout) == json.loads(single.stdout)
    assert stat.S_IMODE((out / "_clusters.json").stat().st_mode) == 0o600


def test_an_undefended_release_leaks_and_is_not_called_one(
    audit: Callable[..., Result], planted: Planted, tmp_path: Path
) -> None:
    assert audit("--summarizer", "extractive").exit_code == 0
    result = audit("--summarizer", "extractive", "--defense", "none")
    out = tmp_path / "out"
    assert result.exit_code == 1, result.stderr
    assert not (out / "release.json").exists()
    leaking = out / "_leaking.json"
    assert stat.S_IMODE(leaking.stat().st_mode) == 0o600
    assert len(released(out, "_leaking.json")["clusters"]) > 25
    said = result.stdout + result.stderr
    assert not [each.id for each in planted.manifest.canaries if each.value in said]
    assert any(each.value in leaking.read_text() for each in planted.manifest.canaries)


def test_the_release_is_the_same_bytes_however_the_input_is_cut(
    audit: Callable[..., Result], planted: Planted, tmp_path: Path
) -> None:
    write_conversations(tmp_path / "one.jsonl", planted.talks)
    rows = [{"id": a.id, "user": a.user, "text": a.text} for a in planted.talks]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "one.parquet", row_group_size=170)
    options = ("--summarizer", "extractive", "--seed", 5, "--clusters", 12)
    assert audit(*options).exit_code == 0
    for out, source, more in (
        ("b", tmp_path / "one.jsonl", ()),
        ("c", tmp_path / "one.parquet", ("--unit-bytes", 1 << 15)),
    ):
        assert audit(*options, *more, source=source, out=out).exit_code == 0
        for name in ("release.json", "_clusters.json"):
            assert (tmp_path / out / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    assert audit(*options[:2], "--seed", 6, "--clusters", 12).exit_code == 0
    assert (tmp_path / "out" / "release.json").read_bytes() != (
        tmp_path / "b" / "release.json"
    ).read_bytes()


def test_a_later_run_goes_on_with_what_is_there(
    audit: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert audit().exit_code == 0
    release = (tmp_path / "out" / "release.json").read_bytes()
    work = tmp_path / "out" / "_work"
    assert stat.S_IMODE(work.stat().st_mode) == 0o700

    def times() -> dict[str, int]:
        files = [*work.glob("*.npz"), *work.glob("*/part-*")]
        return {str(path.relative_to(work)): path.stat().st_mtime_ns for path in files}

    before = times()
    assert len(before) > 9
    (clusters,) = (each.name for each in work.glob("clusters-34-0-*"))
    made_again = {"vectors/part-000000002.parquet", f"{clusters}/part-000000001.parquet"}
    for name in made_again:
        (work / name).unlink()  # as if the run had been killed
    monkeypatch.setattr(canary_module, "fit", None)
    assert audit().exit_code == 0
    assert (tmp_path / "out" / "release.json").read_bytes() == release
    assert {name for name, at in times().items() if before[name] != at} == made_again


def test_clusters_are_of_the_vectors_that_are_there(
    audit: Callable[..., Result], planted: Planted, tmp_path: Path
) -> None:
    assert audit().exit_code == 0
    work = tmp_path / "out" / "_work"
    (before,) = work.glob("model-*.npz")
    shutil.rmtree(work / "vectors")
    path = planted.path / "2.jsonl"
    path.write_text(path.read_text().replace("the", "another"))
    assert audit("--defense", "none").exit_code in {0, 1}
    assert len(list(work.glob("model-34-0-*.npz"))) == 2
    assert before.exists()


@pytest.mark.parametrize("kind", ["open", "link"])
def test_a_directory_to_work_in_that_is_not_ours_alone_is_refused(
    audit: Callable[..., Result], tmp_path: Path, kind: str
) -> None:
    work = tmp_path / "out" / "_work"
    work.parent.mkdir()
    if kind == "open":
        work.mkdir()
        work.chmod(0o755)
    else:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        work.symlink_to(tmp_path / "elsewhere")
    result = audit()
    assert result.exit_code == 2
    said = {"open": "or is open to others (mode 0755)", "link": "is no directory"}
    assert said[kind] in result.stderr
    assert not list(work.iterdir())


@pytest.mark.parametrize("fault", ["manifest", "input", "columns"])
def test_a_release_stays_where_the_next_audit_cannot_begin(
    audit: Callable[..., Result], planted: Planted, tmp_path: Path, fault: str
) -> None:
    assert audit().exit_code == 0
    release = (tmp_path / "out" / "release.json").read_bytes()
    source = planted.path
    if fault == "manifest":
        planted.secret.write_text("{}")
    elif fault == "input":
        source = tmp_path / "nowhere"
    else:
        source = tmp_path / "a.parquet"
        pq.write_table(pa.table({"id": ["a"], "text": ["x"]}), source)
    assert audit(source=source).exit_code == 2
    assert (tmp_path / "out" / "release.json").read_bytes() == release


@pytest.mark.parametrize("name", ["release.json", "_leaking.json", "thesis.txt"])
def test_a_directory_of_somebody_else_is_refused_and_nothing_in_it_touched(
    audit: Callable[..., Result], tmp_path: Path, name: str
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text("mine")
    result = audit()
    assert result.exit_code == 2
    assert f"is not empty, and no earlier audit has worked there: holds {name}" in result.stderr
    left = [(each.name, each.read_text()) for each in (tmp_path / "out").iterdir()]
    assert left == [(name, "mine")]


@pytest.mark.parametrize("work", ["", "notes.txt", "vectors"])
def test_a_directory_of_work_that_no_audit_has_made_is_somebody_elses(
    audit: Callable[..., Result], tmp_path: Path, work: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "_work").mkdir(mode=0o700)
    mine = out / "_work" / work if work else out / "release.json"
    mine.write_text("mine")
    before = sorted(out.rglob("*"))
    result = audit()
    assert result.exit_code == 2
    assert f"holds {mine.relative_to(out)}; name another directory" in result.stderr
    assert sorted(out.rglob("*")) == before
    assert mine.read_text() == "mine"


def test_an_audit_that_was_killed_before_it_left_its_mark_keeps_nobody_out(
    audit: Callable[..., Result],
    planted: Planted,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = tmp_path / "out" / "_work"
    work.mkdir(mode=0o700, parents=True)
    (work / ".lock").touch()
    (work / "._audit.0123456789abcdef").write_bytes(b"half")
    monkeypatch.chdir(tmp_path)
    with Corpus(planted.path, Path("out"), 1 << 16).claimed():
        pass
    assert audit().exit_code == 0


def test_one_audit_at_a_time_writes_from_its_begin_to_its_report(
    audit: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert audit().exit_code == 0
    release = (tmp_path / "out" / "release.json").read_bytes()
    seen: list[Result] = []

    def at_the_end(*arguments: Any, **options: Any) -> Any:
        if not seen:
            (tmp_path / "out" / "release.json").write_bytes(b"of the first")
            seen.append(audit("--defense", "none"))
            assert (tmp_path / "out" / "release.json").read_bytes() == b"of the first"
        return audit_release(*arguments, **options)

    monkeypatch.setattr(canarybench, "audit_release", at_the_end)
    assert audit().exit_code == 0
    (other,) = seen
    assert other.exit_code == 2
    assert other.stderr == f"error: {tmp_path / 'out'}: another run writes to it\n"
    assert (tmp_path / "out" / "release.json").read_bytes() == release
    assert not (tmp_path / "out" / "_leaking.json").exists()


def test_a_release_stays_where_nobody_answers(
    audit: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert audit().exit_code == 0
    release = (tmp_path / "out" / "release.json").read_bytes()

    def gone(*_: Any, **__: Any) -> None:
        raise StoppedError("no Dask scheduler answers")

    monkeypatch.setattr(canary_module, "run", gone)
    assert audit().exit_code == 2
    assert (tmp_path / "out" / "release.json").read_bytes() == release


@pytest.mark.parametrize("step", ["mark", "fit", "release"])
def test_a_full_disk_is_named_and_the_same_command_goes_on(
    audit: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    place = {
        "mark": (canary_module, "replace_file"),
        "fit": (Corpus, "fit"),
        "release": (atomic, "replace_file"),
    }[step]
    with monkeypatch.context() as patch:
        patch.setattr(*place, full)
        result = audit()
    assert result.exit_code == 2
    out = tmp_path / "out"
    said = f"canary-audit: {out}: No space left on device; what is done is kept: the same command"
    assert said in result.stderr.splitlines()[-1]
    assert not (out / "release.json").exists()
    assert audit().exit_code == 0


@pytest.mark.parametrize("out", ["in", "in/deep/out"])
def test_output_in_the_input_is_refused_before_anything_is_made(
    audit: Callable[..., Result], planted: Planted, out: str
) -> None:
    before = sorted(planted.path.rglob("*"))
    result = audit(out=out)
    assert result.exit_code == 2
    assert "is inside of the input" in result.stderr
    assert sorted(planted.path.rglob("*")) == before


def test_other_input_than_before_is_refused(
    audit: Callable[..., Result], planted: Planted, tmp_path: Path
) -> None:
    assert audit().exit_code == 0
    release = (tmp_path / "out" / "release.json").read_bytes()
    (planted.path / "2.jsonl").unlink()
    result = audit()
    assert result.exit_code == 2
    assert "2.jsonl is gone" in result.stderr
    assert (tmp_path / "out" / "release.json").read_bytes() == release


@pytest.mark.parametrize("kept", [slice(0, 900), slice(0, 0)])
def test_a_manifest_of_other_conversations_is_refused(
    audit: Callable[..., Result], planted: Planted, tmp_path: Path, kept: slice
) -> None:
    others = [Conversation(f"x{n}", f"u{n}", f"The train {n} is late.") for n in range(300)]
    write_conversations(tmp_path / "some.jsonl", [*planted.talks[kept], *others])
    result = audit("--defense", "none", source=tmp_path / "some.jsonl")
    assert result.exit_code == 2
    assert re.search(r"error: \d+ of the \d+ canaries of the manifest do not stand", result.stderr)


def test_conversations_that_were_not_planted_are_refused(
    audit: Callable[..., Result], tmp_path: Path
) -> None:
    write_conversations(tmp_path / "clean.jsonl", generate(COUNT, seed=1))
    result = audit(source=tmp_path / "clean.jsonl")
    assert result.exit_code == 2
    assert "do not stand in their conversations" in result.stderr


def test_nothing_was_checked_if_all_is_held_back(
    audit: Callable[..., Result], tmp_path: Path
) -> None:
    result = audit("--k-min", 2000)
    assert result.exit_code == 5
    assert "nothing was checked" in result.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"_work"}


def test_one_bad_row_is_named_and_stops_the_audit(
    audit: Callable[..., Result], planted: Planted, tmp_path: Path
) -> None:
    with (planted.path / "1.jsonl").open("a") as file:
        file.write(json.dumps({"id": "new", "text": "Ask jo.marsh@example.org"}) + "\n")
    result = audit()
    assert result.exit_code == 2
    assert "1.jsonl, row 501: needs a field 'user'" in result.stderr
    assert "jo.marsh" not in result.stderr
    assert not (tmp_path / "out" / "release.json").exists()


def test_two_conversations_with_one_id_are_refused(
    audit: Callable[..., Result], planted: Planted
) -> None:
    write_conversations(planted.path / "3.jsonl", [planted.talks[7]])
    result = audit()
    assert result.exit_code == 2
    assert "0.jsonl, row 8 and 3.jsonl, row 1 have the same id" in result.stderr


def test_no_conversations_are_no_audit(audit: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    result = audit(source=tmp_path / "empty.jsonl")
    assert result.exit_code == 2
    assert "holds no conversations" in result.stderr


@pytest.mark.parametrize("change", ["user", "more", "fewer"])
def test_input_that_changes_while_it_is_read_is_refused(
    audit: Callable[..., Result],
    planted: Planted,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    path = planted.path / "2.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    changed = {
        "user": [line.replace('"user": "', '"user": "other-') for line in lines],
        "more": [*lines, lines[0].replace('"conv-', '"new-')],
        "fewer": lines[:-1],
    }[change]
    runs: list[str] = []

    def running(*arguments: Any, **options: Any) -> Any:
        summary = run(*arguments, **options)
        runs.append(arguments[0].command)
        if len(runs) == 2:  # all vectors and clusters are there
            path.write_text("".join(changed))
        return summary

    monkeypatch.setattr(canary_module, "run", running)
    result = audit("--defense", "none")
    assert result.exit_code == 2
    assert re.search("ha(s|ve) changed while (it was|they were) read", result.stderr)
    assert runs == ["vectors", "clusters"]


def test_it_says_what_it_does_and_nothing_of_the_texts(
    audit: Callable[..., Result], here: list[Place]
) -> None:
    result = audit("--workers", 3, "--format", "github")
    assert result.exit_code == 0
    told = [json.loads(line) for line in result.stderr.splitlines()]
    assert [each["step"] for each in told if each.keys() == {"step"}] == [*STEPS]
    assert here == [Place(3), Place(3)]


def test_a_run_that_cannot_go_on_is_one_clear_line(
    audit: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stops(*arguments: Any, **options: Any) -> None:
        raise StoppedError("all Dask workers have gone")

    monkeypatch.setattr(canary_module, "run", stops)
    result = audit()
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "error: canary-audit: all Dask workers have gone"


def test_a_bug_in_a_worker_is_not_the_users_mistake_and_quotes_no_conversation(
    audit: Callable[..., Result],
    planted: Planted,
    monkeypatch: pytest.MonkeyPatch,
    dask_log: pytest.LogCaptureFixture,
) -> None:
    def count_terms(texts: list[str]) -> None:
        raise ValueError(f"what to do with {texts[0]}?")

    monkeypatch.setattr(canary_jobs, "count_terms", count_terms)
    result = audit()
    assert result.exit_code == 3
    said = r"^internal error: UnforeseenError: \d\.jsonl, bytes \d+ to \d+: ValueError in a worker"
    assert re.search(said, result.stderr.splitlines()[-1])
    assert "UnforeseenError" in dask_log.text
    for shown in (result.output, result.stderr, dask_log.text):
        assert "what to do with" not in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--workers", 2, "--scheduler", "tcp://localhost:1"), "--workers starts workers here"),
        (("--manifest", "no.json"), "no.json"),
    ],
)
def test_wrong_use_is_one_clear_line(
    audit: Callable[..., Result], options: tuple[object, ...], said: str
) -> None:
    result = audit(*options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_input_is_never_written_over(
    audit: Callable[..., Result], planted: Planted, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    secret = tmp_path / "out" / "release.json"
    planted.manifest.save(secret)
    result = audit("--manifest", secret)
    assert result.exit_code == 2
    assert "is an input" in result.stderr
    assert CanaryManifest.load(secret) == planted.manifest
