from __future__ import annotations

import json
from pathlib import Path

import pytest

from dynaserve.bulk import job as job_module
from dynaserve.bulk.job import Reject, StoppedError, Task, forget, process
from dynaserve.bulk.output import Output
from dynaserve.bulk.shards import cut, find_shards
from tests.bulk.jobs import Upper, lines


@pytest.fixture
def task(tmp_path: Path) -> Task:
    (unit,) = cut(find_shards(lines(tmp_path / "a.jsonl", 10)), 1 << 20)
    return Task(unit, 0, 0, 10)


def test_a_reject_holds_its_text_only_if_told() -> None:
    without, told = Reject("é", "a, row 1", "failed", "KeyError"), Reject(1, "a", "b", "c", "text")
    assert "text" not in json.loads(without.line())
    assert json.loads(told.line())["text"] == "text"
    assert "text='" not in repr(told)


def test_what_a_job_needs_is_made_once(
    tmp_path: Path, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    start = Upper.start
    monkeypatch.setattr(Upper, "start", lambda job: made.append(job) or start(job))
    forget("a run")
    for notes in ("", "", str(tmp_path)):
        process(Upper(notes=notes), job_module.__version__, task, Output(tmp_path, "jsonl"))
    assert len(made) == 2
    forget("a run")
    process(Upper(), job_module.__version__, task, Output(tmp_path, "jsonl"))
    assert len(made) == 3
    forget("a run")


def test_another_number_of_rows_is_another_input(tmp_path: Path, task: Task) -> None:
    task = Task(task.unit, 0, 0, 9)
    with pytest.raises(StoppedError, match=r"a\.jsonl: has changed since the run began"):
        process(Upper(), job_module.__version__, task, Output(tmp_path, "jsonl"))
    assert not list(tmp_path.glob("part-*"))
