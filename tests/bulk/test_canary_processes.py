"""``dynaserve bulk canary-audit`` as a process with a worker of its own, killed and run again."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dynaserve.canarybench import plant
from dynaserve.canarybench.conversations import write_conversations
from dynaserve.canarybench.corpus import generate
from dynaserve.cli import app
from tests.bulk.gate import Gate
from tests.waiting import until

COMMAND = [sys.executable, "-c", "from dynaserve.cli import main; main()"]


def start(*arguments: object, **more: str) -> subprocess.Popen[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | more
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.usefixtures("here")
def test_a_killed_run_goes_on_to_the_same_release(tmp_path: Path, gate: Gate) -> None:
    planted, manifest = plant(generate(800, seed=3), seed=3, decoys=50)
    write_conversations(tmp_path / "in.jsonl", planted)
    manifest.save(tmp_path / "secret.json")

    def arguments(out: str) -> list[object]:
        return [
            *("bulk", "canary-audit", tmp_path / "in.jsonl", tmp_path / out),
            *("--manifest", tmp_path / "secret.json", "--unit-bytes", 1 << 15, "--workers", 1),
            *("--summarizer", "extractive", "--json"),
        ]

    units = math.ceil((tmp_path / "in.jsonl").stat().st_size / (1 << 15))
    gate.admit(units)  # all vectors, and nothing of the clusters
    work = tmp_path / "out" / "_work"
    with start(*arguments("out"), **gate.environment) as process:
        until(lambda: [*work.glob("clusters-*/.part-*")] or process.poll() is not None)
        process.kill()
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert len(list(work.glob("vectors/part-*"))) == units
    assert not list(work.glob("clusters-*/part-*"))
    assert not (tmp_path / "out" / "release.json").exists()
    with start(*arguments("out")) as process:
        report, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert json.loads(report)["passed"]
    shown = report + said
    assert not [each.id for each in manifest.canaries if each.value in shown]
    whole = CliRunner().invoke(app, [str(each) for each in arguments("whole")])  # with threads
    assert whole.exit_code == 0, whole.stderr
    assert json.loads(whole.stdout) == json.loads(report)
    releases = [(tmp_path / out / "release.json").read_bytes() for out in ("out", "whole")]
    assert releases[0] == releases[1]
