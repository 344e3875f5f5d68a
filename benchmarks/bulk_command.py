"""``dynaserve bulk`` as a process: what it takes, what its workers hold, and its end by force."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

COMMAND = [sys.executable, "-c", "from dynaserve.cli import main; main()", "bulk"]


@dataclass(frozen=True)
class Timing:
    """What one command took.

    Attributes
    ----------
    seconds, work
        Of the whole command, and of its work on rows alone.
    peak
        The most memory that any worker held, in MiB, shared pages included.
    """

    seconds: float
    work: float
    peak: float


class Command:
    """A running ``dynaserve bulk``, and what its workers hold at most."""

    def __init__(self, *arguments: object) -> None:
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._said: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self._said += self.process.stderr

    def ends(self) -> Timing:
        """Wait, and return what it took.

        Raises
        ------
        RuntimeError
            It went wrong; the message holds what it said.
        """
        started, peak = time.perf_counter(), 0.0
        while self.process.poll() is None:
            peak = max([peak, *map(peak_of, self.workers())])
            time.sleep(0.1)
        seconds = time.perf_counter() - started
        self._reader.join()
        if self.process.returncode not in (0, 1):
            raise RuntimeError("".join(self._said))
        last = json.loads(self._said[-1])
        return Timing(seconds, last["done"] / last["rows_per_second"], peak)

    def workers(self) -> list[psutil.Process]:
        """Return the processes that work on rows."""
        with suppress(psutil.Error):
            children = psutil.Process(self.process.pid).children(recursive=True)
            return [each for each in children if "spawn_main" in " ".join(each.cmdline())]
        return []

    def kill(self) -> None:
        """End it as a crash does; its workers notice by themselves."""
        workers = self.workers()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        psutil.wait_procs(workers, 60)


def peak_of(process: psutil.Process) -> float:
    """Return the most memory that a process has held so far, in MiB."""
    with suppress(OSError, psutil.Error):
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0
