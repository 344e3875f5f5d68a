"""Servers as processes: they say why they do not start, and none of them stays behind."""

from __future__ import annotations

import os
import signal
import sys
import time
import urllib.request
from pathlib import Path

import psutil
import pytest

from benchmarks.processes import Command, Running, Server, clean_up_on_sigterm, is_ready, running

FILES = Server(
    lambda port, _: Command(
        [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"], {}
    ),
    "/here.txt",
)
# Its child is what a supervisor's worker is: nobody ends it but the group's signal.
SUPERVISOR = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
open("child", "w").write(str(child.pid))
import http.server
http.server.test(http.server.SimpleHTTPRequestHandler, port=int(sys.argv[1]), bind="127.0.0.1")
"""


def test_servers_are_up_inside_and_gone_outside(tmp_path: Path) -> None:
    (tmp_path / "here.txt").write_text("found")
    with running({"one": FILES, "two": FILES}, tmp_path) as up:
        assert up["one"].port != up["two"].port
        for server in up.values():
            url = f"http://127.0.0.1:{server.port}/here.txt"
            with urllib.request.urlopen(url) as answer:
                assert answer.read() == b"found"
    assert all(server.process.returncode is not None for server in up.values())
    assert not any(is_ready(server.port, "/here.txt") for server in up.values())


def test_workers_end_with_their_server(tmp_path: Path) -> None:
    server = Server(
        lambda port, _: Command([sys.executable, "-c", SUPERVISOR, str(port)], {}), "/child"
    )
    with running({"one": server}, tmp_path):
        child = psutil.Process(int((tmp_path / "child").read_text()))
        assert child.is_running()
    assert child.wait(10) is None or not child.is_running()


def test_a_server_that_does_not_start_says_why_and_takes_the_others_along(tmp_path: Path) -> None:
    (tmp_path / "here.txt").touch()
    code = "import sys; sys.exit('no weights')"
    broken = Server(lambda *_: Command([sys.executable, "-c", code], {}))
    with (
        pytest.raises(RuntimeError, match=r"'broken' did not get ready:\nno weights"),
        running({"one": FILES, "broken": broken}, tmp_path),
    ):
        pass
    children = psutil.Process().children(recursive=True)
    assert not any("http.server" in each.cmdline() for each in children)


def test_a_server_gets_its_environment_and_one_thread(tmp_path: Path) -> None:
    code = "import os, sys; sys.exit(os.environ['MINE'] + os.environ['OMP_NUM_THREADS'])"
    server = Server(lambda *_: Command([sys.executable, "-c", code], {"MINE": "x"}))
    with pytest.raises(RuntimeError, match="x1"), running({"a": server}, tmp_path):
        pass


def test_a_sigterm_ends_the_servers_too(tmp_path: Path) -> None:
    (tmp_path / "here.txt").touch()
    before = signal.getsignal(signal.SIGTERM)
    clean_up_on_sigterm()
    started: list[Running] = []

    def be_ended() -> None:
        with running({"one": FILES}, tmp_path) as up:
            started.append(up["one"])
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)

    try:
        with pytest.raises(SystemExit, match="143"):
            be_ended()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert started[0].process.returncode is not None
