from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from dynaserve.processes import worker_pool

STARTER = """\
import os, sys
from dynaserve.processes import worker_pool

if __name__ == "__main__":
    with worker_pool(2) as pool:
        print(*{pool.submit(os.getpid).result() for _ in range(2)}, flush=True)
        sys.stdin.read()
"""


def _keep(value: int, kept: str) -> None:
    os.environ[kept] = str(value)


def _kept(kept: str) -> str:
    return os.environ[kept]


def test_each_worker_calls_the_initializer_first() -> None:
    with worker_pool(1, _keep, 7, "DYNASERVE_TEST_KEPT") as pool:
        assert pool.submit(_kept, "DYNASERVE_TEST_KEPT").result() == "7"


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_idle_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "starter.py").write_text(STARTER)
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "starter.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as parent:
        assert parent.stdout is not None
        workers = [int(word) for word in parent.stdout.readline().split()]
        assert workers
        assert all(map(_runs, workers))
        parent.send_signal(signal.SIGKILL)
    until = monotonic() + 60
    while any(map(_runs, workers)) and monotonic() < until:
        sleep(0.1)
    assert not any(map(_runs, workers))
