from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from dynaserve.serving import orphans

CHILD = """
import signal, sys, time
from dynaserve.serving import orphans
orphans.LOOK_SECONDS = 0.05
if sys.argv[1] == "deaf":
    orphans.GRACE_SECONDS = 0.05
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
orphans.end_with_supervisor()
print("watching", flush=True)
time.sleep(100)
"""
PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["hears SIGTERM", "deaf"])
def test_a_process_whose_parent_is_killed_ends(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(orphans.SUPERVISOR, raising=False)
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, CHILD, kind], stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"watching\n"
        parent.kill()
        parent.wait()
        assert parent.stdout.read() == b""  # ends when the child, which holds it too, does


@pytest.mark.timeout(60)
def test_a_process_whose_parent_died_before_it_looked_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(orphans.SUPERVISOR, "0")
    orphans.name_supervisor()
    assert os.environ[orphans.SUPERVISOR] == str(os.getpid())
    monkeypatch.setenv(orphans.SUPERVISOR, "1" if os.getpid() != 1 else "2")
    done = subprocess.run(
        [sys.executable, "-c", CHILD, "hears"], stdout=subprocess.PIPE, check=False
    )
    assert done.returncode == -signal.SIGTERM


def test_a_process_whose_parent_lives_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = threading.Event()
    monkeypatch.delenv(orphans.SUPERVISOR, raising=False)
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("killed"))
    monkeypatch.setattr(orphans, "sleep", lambda _: looked.set() or signal.pause())
    orphans.end_with_supervisor()
    assert looked.wait(10)
