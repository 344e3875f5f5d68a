from __future__ import annotations

import json
import os
import pickle
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from dynaserve._version import __version__
from dynaserve.bulk import job as job_module
from dynaserve.bulk.errors import InputError, StoppedError, UnforeseenError
from dynaserve.bulk.job import Done, Reject, Task, forget, process, survey
from dynaserve.bulk.output import Output
from dynaserve.bulk.shards import cut, find_shards
from tests.bulk.jobs import Upper, lines
from tests.waiting import PATIENCE, until


@pytest.fixture
def task(tmp_path: Path) -> Task:
    (unit,) = cut(find_shards(lines(tmp_path / "a.jsonl", 10)), 1 << 20)
    return Task(unit, 0, 0, 10)


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(tmp_path, "jsonl")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Upper]:
    """Return the jobs that were started."""
    started: list[Upper] = []
    start = Upper.start
    monkeypatch.setattr(Upper, "start", lambda job: started.append(job) or start(job))
    return started


def test_a_reject_holds_its_text_only_if_told() -> None:
    without, told = Reject("é", "a, row 1", "failed", "KeyError"), Reject(1, "a", "b", "c", "text")
    assert "text" not in json.loads(without.line())
    assert json.loads(told.line())["text"] == "text"
    assert "text='" not in repr(told)


def test_what_a_job_needs_is_made_once(
    tmp_path: Path, task: Task, output: Output, made: list[Upper]
) -> None:
    for notes in ("", "", str(tmp_path)):
        process(f"run {notes}", Upper(notes=notes), __version__, task, output)
    assert made == [Upper(), Upper(notes=str(tmp_path))]
    forget("run ")
    process("another", Upper(), __version__, task, output)
    assert len(made) == 3


def test_two_runs_on_one_cluster_do_not_undo_each_other(
    tmp_path: Path, task: Task, output: Output, made: list[Upper]
) -> None:
    other = Upper(notes=str(tmp_path))
    for _ in range(3):
        process("one", Upper(), __version__, task, output)
        process("two", other, __version__, task, output)
    assert made == [Upper(), other]
    forget("one")
    process("two", other, __version__, task, output)
    assert made == [Upper(), other]


def test_a_run_after_one_that_was_killed_goes_on_with_what_it_made(
    task: Task, output: Output, made: list[Upper]
) -> None:
    process("killed", Upper(), __version__, task, output)
    process("next", Upper(), __version__, task, output)
    assert len(made) == 1
    forget("next")
    assert job_module._works.keys() == {"killed"}


def test_runs_that_were_killed_do_not_fill_the_memory(
    task: Task, output: Output, made: list[Upper]
) -> None:
    for number in range(5):
        process(f"run-{number}", Upper(), __version__, task, output)
        assert len(job_module._works) <= 2
    assert [*job_module._works] == ["run-3", "run-4"]
    for number in range(500):
        forget(f"ended-{number}")
    assert len(job_module._ended) == 100


def test_a_call_that_outlives_its_run_writes_nothing_and_lets_go_of_what_it_made(
    tmp_path: Path, task: Task, output: Output
) -> None:
    process("one", Upper(), __version__, task, output)
    assert "one" in job_module._works
    forget("one")
    (part,) = tmp_path.glob("part-*")
    part.unlink()
    with pytest.raises(StoppedError, match="the run has ended"):
        process("one", Upper(), __version__, task, output)
    assert not part.exists()
    assert "one" not in job_module._works
    process("two", Upper(), __version__, task, output)
    assert "two" in job_module._works


def test_the_end_of_a_run_waits_for_the_part_that_is_being_written(
    tmp_path: Path, task: Task, output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, let, fsync = threading.Event(), threading.Event(), os.fsync

    def held(descriptor: int) -> None:
        begun.set()
        assert let.wait(PATIENCE)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", held)
    with ThreadPoolExecutor(2) as threads:
        written = threads.submit(process, "one", Upper(), __version__, task, output)
        assert begun.wait(PATIENCE)
        ended = threads.submit(forget, "one")
        until(lambda: "one" in job_module._ended)
        assert not ended.done()
        forget("another")
        let.set()
        ended.result()
        assert list(tmp_path.glob("*part-*")) == [output.path / "part-000000000.jsonl"]
        assert written.result().rows == 10
    assert not job_module._in_hand


def test_the_end_of_a_run_does_not_wait_for_ever(
    task: Task, output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_module, "_PATIENCE", 0.01)
    monkeypatch.setattr(Output, "put", lambda *_: forget("one"))
    process("one", Upper(), __version__, task, output)
    assert not job_module._in_hand


def test_another_number_of_rows_is_another_input(
    tmp_path: Path, task: Task, output: Output
) -> None:
    with pytest.raises(StoppedError, match=r"a\.jsonl: has changed since the run began"):
        process("run", Upper(), __version__, replace(task, rows=9), output)
    assert not list(tmp_path.glob("part-*"))


def test_another_file_in_place_of_the_input_is_not_worked_on(
    tmp_path: Path, task: Task, output: Output, made: list[Upper]
) -> None:
    source = task.unit.shard.path
    before = source.rename(tmp_path / "before")
    source.write_bytes(before.read_bytes().replace(b"x", b"y"))
    for call in (
        lambda: survey("run", Upper(), task.unit),
        lambda: process("run", Upper(), __version__, task, output),
    ):
        with pytest.raises(StoppedError, match=r"^a\.jsonl: has changed since the run began$"):
            call()
    assert not list(tmp_path.glob("part-*"))
    before.replace(source)  # the very file, by its time
    assert process("run", Upper(), __version__, task, output).rows == 10


@pytest.mark.parametrize("back", [False, True])
def test_a_file_that_changes_while_it_is_read_leaves_no_part(
    tmp_path: Path, task: Task, output: Output, monkeypatch: pytest.MonkeyPatch, back: bool
) -> None:
    source, before = task.unit.shard.path, tmp_path / "before"

    def changing(*_: object) -> Done:
        if back:
            before.replace(source)
        else:
            source.write_text("other")
        return Done(b"", 10)

    if back:
        source.rename(before)
        source.write_bytes(before.read_bytes())
    monkeypatch.setattr(Upper, "_work", changing)
    with pytest.raises(StoppedError, match="has changed"):
        process("run", Upper(), __version__, task, output)
    assert not list(tmp_path.glob("part-*"))


def raised(call: object, *arguments: object) -> Exception:
    """Return what a call raises, as it comes to the scheduler: pickled."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - any kind is looked at
        call(*arguments)  # type: ignore[operator]
    told = caught.value
    assert (told.__cause__, told.__context__) == (None, None)
    shown = "".join(traceback.format_exception(told)) + repr(told) + repr(pickle.dumps(told))
    assert "xxxx" not in shown, "a row is quoted"
    return told


@pytest.mark.parametrize("fault", ["bug", "quoting"])
def test_what_nobody_foresaw_is_told_without_a_word_of_a_row(
    task: Task, output: Output, fault: str
) -> None:
    told = raised(process, "run", Upper(fault), __version__, task, output)
    kind = {"bug": "ZeroDivisionError", "quoting": "ValueError"}[fault]
    assert isinstance(told, UnforeseenError)
    assert str(told) == f"{task.unit}: {kind} in a worker"
    assert str(task.unit) == f"a.jsonl, bytes 0 to {task.unit.stop}"


@pytest.mark.parametrize("error", [StoppedError("no key"), InputError("a: odd"), OSError(28, "no")])
def test_what_is_meant_to_be_said_is_said_without_what_it_came_of(
    task: Task, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def ids(*_: object) -> None:
        try:
            b"xxxx\xff".decode()
        except UnicodeDecodeError:
            raise error  # noqa: B904 - that is the point

    monkeypatch.setattr(Upper, "ids", ids)
    assert raised(survey, "run", Upper(), task.unit) is error


@pytest.mark.parametrize("error", [ValueError("wide"), OSError("gone"), ImportError("extra")])
def test_a_worker_that_cannot_make_what_it_needs_says_where(
    task: Task, output: Output, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def start(_: Upper) -> None:
        raise error

    monkeypatch.setattr(Upper, "start", start)
    with pytest.raises(StoppedError, match=rf"^a worker on \S+: {error}$"):
        process("run", Upper(), __version__, task, output)
