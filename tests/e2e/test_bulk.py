"""Real runs over files: processes that are killed, a real Dask cluster, and keys that stay put."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import tests.bulk.gate
from dynaserve import DynaNoise
from dynaserve.rlaa import Anonymizer
from tests.bulk.gate import Gate
from tests.bulk.tables import Table, released
from tests.bulk.texts import comments, read, write
from tests.waiting import until

distributed = pytest.importorskip("distributed")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.e2e

COMMAND = [sys.executable, "-c", "from dynaserve.cli import main; main()", "bulk"]
KEY = bytes(range(150, 182))
VERSION = "made-up"
TEXTS = 400
PATIENCE = 120


@dataclass
class Process:
    """A process with all that it starts: they are a group of their own."""

    arguments: list[str]
    log: Path
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> Process:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.arguments,
                env=os.environ | self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    @property
    def running(self) -> subprocess.Popen[bytes]:
        assert self.process is not None
        return self.process

    def workers(self) -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(self.running.pid).children(recursive=True)
            return [child for child in children if "spawn_main" in " ".join(child.cmdline())]
        return []

    def ends(self) -> int:
        return self.running.wait(PATIENCE)

    def stop(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(self.running.pid, number)
                self.running.wait(10)


def reaches(what: Callable[[], object], process: Process) -> None:
    """Wait until it comes to something; fail at once if the process ends before."""
    until(lambda: what() or process.running.poll() is not None)
    assert what(), process.log.read_text()


def parts(directory: Path) -> int:
    return len(list(directory.glob("part-*")))


def held(directory: Path) -> int:
    """Return how many parts are written whole, but wait at the gate for their names."""
    return len(list(directory.glob(".part-*")))


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def start(tmp_path: Path, processes: ExitStack) -> Callable[..., Process]:
    """Start ``dynaserve bulk``; its log is ``log`` in the test's directory."""

    def start(*arguments: object, **environment: str) -> Process:
        process = Process([*COMMAND, *map(str, arguments)], tmp_path / "log", environment)
        processes.callback(process.stop)
        return process.start()

    return start


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate.within(tmp_path)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    every = comments(TEXTS + 4)
    rows = [
        {"id": row["id"], "text": " ".join(str(each["text"]) for each in every[at : at + 4])}
        for at, row in enumerate(every[:TEXTS])
    ]
    write(tmp_path / "in" / "a.jsonl", rows[: TEXTS // 2])
    write(tmp_path / "in" / "b.jsonl", rows[TEXTS // 2 :])
    return tmp_path / "in"


def whole(source: Path) -> list[dict[str, str]]:
    """Return what one process makes of all texts, one after another."""
    anonymizer = Anonymizer.embedded()
    lines = []
    for path in sorted(source.iterdir()):
        for row in map(json.loads, path.read_text().splitlines()):
            result = anonymizer.run(row["text"])
            lines.append({"id": row["id"], "status": result.status.value, "text": result.text})
    return lines


def test_killed_again_and_again_and_gone_on_with_it_is_as_if_nothing_had_been(
    tmp_path: Path, source: Path, start: Callable[..., Process], gate: Gate
) -> None:
    output = tmp_path / "out"
    run = ("anonymize", source, output, "--workers", 2, "--unit-bytes", 2048)
    done = 0
    for more in (0, random.Random(8).randint(1, 20)):
        process = start(*run, **gate.environment)
        gate.admit(more)
        done += more
        # Both workers have written a part that has no name yet: the worst moment.
        reaches(lambda done=done: parts(output) == done and held(output) == 2, process)
        workers = process.workers()
        process.running.kill()  # not its workers: they end by themselves
        assert process.ends() == -signal.SIGKILL
        _, alive = psutil.wait_procs(workers, PATIENCE)
        assert not alive
        assert (parts(output), held(output)) == (done, 2)
    process = start(*run, **gate.environment)
    gate.admit(1)
    reaches(lambda: parts(output) == done + 1 and held(output) == 2, process)
    # One of its workers dies, too: what it had in hand is done by another one.
    process.workers()[0].kill()
    gate.open()
    assert process.ends() == 0, process.log.read_text()
    assert parts(output) > done + 1
    assert read(output) == whole(source)
    assert not held(output)
    changed = start(*run, "--max-rounds", 2)
    assert changed.ends() == 2
    assert "max_rounds was 3 and is 2" in changed.log.read_text()


@contextmanager
def cluster(directory: Path, gate: Gate, **environment: str) -> Iterator[tuple[str, Process]]:
    """Start a scheduler and two workers at a gate; yield its address and the scheduler's process.

    The gate is open in the end, or workers would wait on.
    """
    dask = [sys.executable, "-m", "dask"]
    local = ["--host", "127.0.0.1"]
    told = {"DASK_LOGGING__DISTRIBUTED": "debug"} | gate.environment | environment
    file = directory / "scheduler.json"
    with ExitStack() as stack:
        scheduler = Process(
            [
                *dask,
                "scheduler",
                *local,
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                str(file),
            ],
            directory / "scheduler.log",
            told,
        ).start()
        stack.callback(scheduler.stop)
        reaches(lambda: file.exists() and file.read_text(), scheduler)
        address = json.loads(file.read_text())["address"]
        for number in range(2):
            worker = Process(
                [
                    *(*dask, "worker", address, *local, "--nthreads", "1", "--no-dashboard"),
                    *("--preload", tests.bulk.gate.__file__),
                ],
                directory / f"worker-{number}.log",
                told,
            ).start()
            stack.callback(worker.stop)
        stack.callback(gate.open)
        yield address, scheduler


def graph(dask_scheduler: Any = None) -> list[bytes]:
    return [pickle.dumps(task.run_spec) for task in dask_scheduler.tasks.values()]


def test_a_real_cluster_does_the_same_and_the_key_is_seen_nowhere(
    tmp_path: Path, start: Callable[..., Process], gate: Gate
) -> None:
    values = np.random.default_rng(0).normal(0, 3, (6000, 10))
    table = Table(tmp_path / "logits.parquet", values).write(row_group_size=1000)
    expected = DynaNoise.keyed(KEY, model_version=VERSION)(values, queries=table.queries)
    output, secret = tmp_path / "out", {"DYNASERVE_NOISE_KEY": KEY.hex()}
    with cluster(tmp_path, gate, **secret) as (address, _):
        with distributed.Client(address) as client:
            client.wait_for_workers(2, PATIENCE)
            run = ("defend", table.path, output, "--scheduler", address, "--unit-bytes", 8192)
            process = start(*run, "--model-version", VERSION, **secret)
            reaches(lambda: held(output) == 2, process)
            seen = client.run_on_scheduler(graph)
            gate.open()
            while process.running.poll() is None:
                seen += client.run_on_scheduler(graph)
        assert process.ends() == 0, process.log.read_text()
    assert any(b"logits.parquet" in task for task in seen)
    ids, _, probabilities = released(output)
    assert ids == table.ids
    np.testing.assert_array_equal(probabilities, expected)
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for form in (KEY, KEY.hex().encode(), KEY[:8], KEY.hex()[:16].encode()):
        assert not any(form in content for content in [*seen, *written])


def test_a_scheduler_that_goes_stops_the_run_clearly_and_another_one_goes_on(
    tmp_path: Path,
    start: Callable[..., Process],
    gate: Gate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", KEY.hex())
    values = np.random.default_rng(0).normal(0, 3, (12_000, 10))
    table = Table(tmp_path / "logits.parquet", values).write(row_group_size=1000)
    output = tmp_path / "out"
    run = ("defend", table.path, output, "--unit-bytes", 8192, "--model-version", VERSION)
    with cluster(tmp_path, gate) as (address, scheduler):
        process = start(*run, "--scheduler", address)
        gate.admit(5)
        reaches(lambda: parts(output) == 5 and held(output) == 2, process)
        scheduler.running.kill()
        assert process.ends() == 2
        assert parts(output) == 5
    assert "error: defend: the Dask scheduler has gone; what is done is kept" in (
        process.log.read_text()
    )
    resumed = start(*run, "--workers", 1)
    assert resumed.ends() == 0, resumed.log.read_text()
    expected = DynaNoise.keyed(KEY, model_version=VERSION)(values, queries=table.queries)
    np.testing.assert_array_equal(released(output)[2], expected)
