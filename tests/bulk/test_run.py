from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dynaserve.bulk import job as job_module
from dynaserve.bulk import reading, scheduling, shards
from dynaserve.bulk import run as run_module
from dynaserve.bulk.cluster import Place
from dynaserve.bulk.errors import StoppedError, UnforeseenError
from dynaserve.bulk.output import Output
from dynaserve.bulk.run import Progress, Summary, Watch, run
from dynaserve.bulk.scheduling import Killed
from dynaserve.bulk.shards import find_shards, require_unchanged
from tests.bulk.jobs import Upper, lines
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("here")


def go(job: Upper, source: Path, output: Path, told: list[Progress] | None = None) -> Summary:
    watch = Watch(goes_on=(told if told is not None else []).append)
    return run(job, source, output, Place(), unit_bytes=500, watch=watch)


def content(output: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(output.glob("part-*")))


def test_every_row_comes_out_once_and_in_order(tmp_path: Path) -> None:
    source = lines(tmp_path / "in" / "a.jsonl", 100)
    lines(tmp_path / "in" / "b.jsonl", 0)
    told: list[Progress] = []
    summary = go(Upper(), source.parent, tmp_path / "out", told)
    assert summary == Summary(rows=100, before=0, rejects=0)
    assert content(tmp_path / "out") == source.read_bytes().upper()
    assert {each.step for each in told} == {"survey", "upper"}
    assert (told[-1].done, told[-1].total, told[-1].workers) == (100, 100, 2)
    done = [each.done for each in told if each.step == "upper"]
    assert done == sorted(done)


def test_a_finished_run_does_nothing_and_starts_no_worker(
    tmp_path: Path, here: list[Place]
) -> None:
    source = lines(tmp_path / "a.jsonl", 100)
    go(Upper(), source, tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("part-*")}
    assert go(Upper(), source, tmp_path / "out") == Summary(rows=100, before=100, rejects=0)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(here) == 1


def test_what_is_missing_is_done_and_nothing_else(tmp_path: Path) -> None:
    source, output, notes = lines(tmp_path / "a.jsonl", 100), tmp_path / "out", tmp_path / "notes"
    notes.mkdir()
    go(Upper(), source, output)
    whole = content(output)
    missing = sorted(output.glob("part-*"))[2:4]
    rows = sum(path.read_bytes().count(b"\n") for path in missing)
    for path in missing:
        path.unlink()
    summary = go(Upper(notes=str(notes)), source, output)
    assert summary == Summary(rows=100, before=100 - rows, rejects=0)
    assert content(output) == whole
    assert sorted(int(note.name) for note in notes.iterdir()) == [1000, 1500]


def test_other_work_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, output = lines(tmp_path / "a.jsonl", 100), tmp_path / "out"
    go(Upper(), source, output)
    with pytest.raises(ValueError, match=r"out: was begun with something else: unit_bytes was 500"):
        run(Upper(), source, output, Place(), unit_bytes=600, watch=Watch())
    monkeypatch.setattr(Upper, "configuration", lambda _: {"case": "lower"})
    with pytest.raises(ValueError, match="case was 'upper' and is 'lower'"):
        go(Upper(), source, output)
    monkeypatch.undo()
    lines(source, 101)
    with pytest.raises(ValueError, match=r"a\.jsonl has another content"):
        go(Upper(), source, output)


def test_two_rows_with_one_id_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    lines(tmp_path / "in" / "a.jsonl", 30)
    (tmp_path / "in" / "b.jsonl").write_text('{"id": 99}\n\n{"id": 29}\n')
    with pytest.raises(ValueError, match=r"a\.jsonl, row 30 and b\.jsonl, row 2 have the same id"):
        go(Upper(), tmp_path / "in", tmp_path / "out")
    assert not list((tmp_path / "out").glob("[!.]*"))


def test_a_bad_row_stops_no_other(tmp_path: Path) -> None:
    source, output = lines(tmp_path / "a.jsonl", 100), tmp_path / "out"
    assert go(Upper("reject"), source, output) == Summary(100, 0, 1)
    reject = json.loads((output / "_rejects.jsonl").read_text())
    assert reject == {"id": 7, "place": "a.jsonl, row 8", "status": "failed", "reason": "KeyError"}
    assert content(output).count(b"\n") == 99
    assert go(Upper("reject"), source, output) == Summary(100, 100, 1)


def test_a_full_disk_stops_the_run_with_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = lines(tmp_path / "a.jsonl", 100), tmp_path / "out"
    fsync, calls = os.fsync, []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoppedError, match="No space left on device; what is done is kept"):
            go(Upper(), source, output)
    assert not list(output.glob(".part-*"))
    assert 0 < len(list(output.glob("part-*"))) <= 2
    go(Upper(), source, output)
    assert content(output) == source.read_bytes().upper()


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        ("full", StoppedError, "^/out/part: No space left on device; what is done is kept"),
        ("missing", StoppedError, "^the worker has no key$"),
        ("bug", UnforeseenError, r"^a\.jsonl, bytes 0 to 500: ZeroDivisionError in a worker$"),
        ("quoting", UnforeseenError, r"^a\.jsonl, bytes 0 to 500: ValueError in a worker$"),
    ],
)
def test_what_stops_a_worker_stops_the_run(
    tmp_path: Path, fault: str, error: type[Exception], said: str
) -> None:
    source = lines(tmp_path / "a.jsonl", 40)
    with pytest.raises(error, match=said):
        go(Upper(fault), source, tmp_path / "out")
    assert go(Upper(), source, tmp_path / "out").rows == 40


def test_units_that_kill_workers_do_not_keep_the_others_from_being_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = lines(tmp_path / "a.jsonl", 100), tmp_path / "out"
    original = scheduling._result

    def result(future: Any) -> Any:
        return (
            Killed()
            if future.key.startswith("upper-") and future.key.endswith("-1")
            else original(future)
        )

    monkeypatch.setattr(scheduling, "_result", result)
    with pytest.raises(StoppedError, match=r"a\.jsonl, bytes 500 to 1000: it ended every worker"):
        go(Upper(), source, output)
    numbers = set(range(-(-source.stat().st_size // 500)))
    assert {*map(int, re.findall(r"part-(\d+)", str([*output.glob("part-*")])))} >= numbers - {1}

    monkeypatch.setattr(scheduling, "_result", lambda _: Killed())
    with pytest.raises(StoppedError, match=r"a\.jsonl, bytes"):
        go(Upper(), source, tmp_path / "other")


def test_input_that_changes_under_a_run_is_not_passed_off_as_done(tmp_path: Path) -> None:
    source, output = lines(tmp_path / "a.jsonl", 100), tmp_path / "out"

    def grow(progress: Progress) -> None:
        if progress.step == "upper" and source.stat().st_size < 4000:
            with source.open("a") as file:
                file.write('{"id": 1000}\n' * 100)

    with pytest.raises((ValueError, StoppedError), match=r"have changed|has changed"):
        run(Upper(), source, output, Place(), unit_bytes=500, watch=Watch(goes_on=grow))


@pytest.mark.parametrize("fault", ["", "missing", "bug"])
def test_however_a_run_ends_workers_let_go_of_models_and_files(tmp_path: Path, fault: str) -> None:
    source, own = lines(tmp_path / "a.jsonl", 40), Upper(fault, notes=str(tmp_path))
    with suppress(StoppedError):
        go(own, source, tmp_path / "out")
    # Others may be there: what is still at work for an earlier test.
    until(lambda: own not in dict(job_module._works.values()) and not reading._streams)


def test_a_scheduler_that_has_gone_is_not_asked_to_forget() -> None:
    class Gone:
        status = "connecting"

        def run(self, *_: Any, **__: Any) -> None:
            raise AssertionError("would wait")

    with pytest.raises(StoppedError, match="gone"), run_module._named(Gone()):
        raise StoppedError("gone")


def test_what_a_worker_says_of_a_row_is_in_no_log(
    tmp_path: Path, dask_log: pytest.LogCaptureFixture
) -> None:
    source = lines(tmp_path / "a.jsonl", 40)
    with pytest.raises(UnforeseenError):
        go(Upper("quoting"), source, tmp_path / "out")
    assert "UnforeseenError" in dask_log.text, "Dask logs what calls raise"
    assert "xxxx" not in dask_log.text


Put = Callable[[Output, int, bytes, Sequence[bytes]], None]


def elsewhere(monkeypatch: pytest.MonkeyPatch, put: Callable[[Put], Put]) -> None:
    """Have parts written otherwise, as workers do that see other disks under the same path."""
    monkeypatch.setattr(Output, "put", put(Output.put))
    monkeypatch.setattr(run_module, "_LOOKS", 1)
    monkeypatch.setattr(run_module, "_PAUSE", 0.0)


def test_parts_that_are_on_another_disk_are_not_called_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = lines(tmp_path / "a.jsonl", 100), tmp_path / "out"
    other = tmp_path / "other"
    other.mkdir()

    def mounted(put: Put) -> Put:
        return lambda self, *told: put(replace(self, path=other, run=None), *told)

    with monkeypatch.context() as patch:
        elsewhere(patch, mounted)
        said = rf"^{output}: (\d+) of \1 parts that workers wrote are not here; they have to see"
        with pytest.raises(StoppedError, match=said):
            go(Upper(), source, output)
    assert len(list(other.glob("part-*"))) > 3
    assert go(Upper(), source, output) == Summary(100, 0, 0)
    assert content(output) == source.read_bytes().upper()


def test_a_part_whose_rejects_are_not_here_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = lines(tmp_path / "a.jsonl", 100), tmp_path / "out"

    def losing(put: Put) -> Put:
        return lambda self, number, content, _: put(self, number, content, [])

    with monkeypatch.context() as patch:
        elsewhere(patch, losing)
        with pytest.raises(StoppedError, match=r"1 of \d+ parts that workers wrote are not here"):
            go(Upper("reject"), source, output)
    assert not (output / "part-000000000.jsonl").exists()
    summary = go(Upper("reject"), source, output)
    assert (summary.rows, summary.rejects) == (100, 1)
    assert 80 < summary.before < 100
    assert (output / "_rejects.jsonl").read_text().count("row 8") == 1


def test_a_file_system_that_shows_parts_late_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = lines(tmp_path / "a.jsonl", 100), tmp_path / "out"
    server = tmp_path / "server"
    server.mkdir()

    def late(put: Put) -> Put:
        return lambda self, *told: put(replace(self, path=server, run=None), *told)

    def lacking(self: Output, receipts: Any) -> list[int]:
        found = there(self, receipts)
        for part in server.glob("part-*"):
            part.rename(output / part.name)
        return found

    there = Output.lacking
    elsewhere(monkeypatch, late)
    monkeypatch.setattr(Output, "lacking", lacking)
    assert go(Upper(), source, output) == Summary(100, 0, 0)
    assert content(output) == source.read_bytes().upper()


def test_input_that_is_changed_and_put_back_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output, before = lines(tmp_path / "a.jsonl", 100), tmp_path / "out", tmp_path / "before"
    begin = Output.begin

    def change(self: Output, ledger: Any) -> None:
        source.rename(before)
        source.write_bytes(before.read_bytes().replace(b"x", b"y"))
        begin(self, ledger)

    def put_back(*told: Any) -> None:
        before.replace(source)
        require_unchanged(*told)

    monkeypatch.setattr(Output, "begin", change)
    monkeypatch.setattr(run_module, "require_unchanged", put_back)
    with pytest.raises(StoppedError, match=r"a\.jsonl: has changed since the run began"):
        go(Upper(), source, output)
    assert not list(output.glob("part-*"))


def test_input_of_the_same_size_in_its_place_is_noticed(tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", 100)

    def swap(progress: Progress) -> None:
        if progress.step == "upper" and not (tmp_path / "new").exists():
            info = source.stat()
            (tmp_path / "new").write_bytes(source.read_bytes().replace(b"x", b"y"))
            os.utime(tmp_path / "new", ns=(info.st_atime_ns, info.st_mtime_ns))
            os.link(tmp_path / "new", tmp_path / "other")
            (tmp_path / "other").replace(source)

    with pytest.raises(ValueError, match=r"a\.jsonl: files have changed while they were read"):
        run(Upper(), source, tmp_path / "out", Place(), unit_bytes=500, watch=Watch(goes_on=swap))


def test_input_that_was_written_to_in_place_is_noticed(tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", 100)
    before = shards.stamps(find_shards(source))
    require_unchanged(source, before)
    info = source.stat()
    os.utime(source, ns=(info.st_atime_ns, info.st_mtime_ns + 1))
    with pytest.raises(ValueError, match="have changed"):
        require_unchanged(source, before)
    source.unlink()
    with pytest.raises(ValueError, match="have changed"):
        require_unchanged(source, before)


def test_a_part_of_another_run_is_not_taken_for_one_of_this(tmp_path: Path) -> None:
    source, output = lines(tmp_path / "a.jsonl", 100), tmp_path / "out"
    go(Upper(), source, output)
    (output / "part-000000099.jsonl").write_text("{}")
    with pytest.raises(ValueError, match=r"part-000000099\.jsonl is no part of this run"):
        go(Upper(), source, output)


def test_a_worker_with_another_version_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "__version__", "0.0.0")
    with pytest.raises(StoppedError, match=r"a worker has DynaServe .* and this is 0\.0\.0"):
        go(Upper(), lines(tmp_path / "a.jsonl", 3), tmp_path / "out")


def test_output_inside_of_the_input_is_refused(tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", 3)
    for output in (tmp_path, tmp_path / "out"):
        with pytest.raises(ValueError, match="is inside of the input"):
            go(Upper(), tmp_path, output)


def test_no_rows_are_no_work(tmp_path: Path) -> None:
    assert go(Upper(), lines(tmp_path / "a.jsonl", 0), tmp_path / "out") == Summary(0, 0, 0)
