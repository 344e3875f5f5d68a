"""A gate in workers: no file that they write gets its name before a test lets it.

Dask preloads this in each worker; `BULK_GATE` names the directory where it stands.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "BULK_GATE"


@dataclass(frozen=True)
class Gate:
    """Where tests leave permits for one file each, and workers take them."""

    path: Path

    @classmethod
    def within(cls, directory: Path) -> Gate:
        """Return a new one, closed."""
        path = directory / "gate"
        path.mkdir()
        return cls(path)

    @property
    def environment(self) -> dict[str, str]:
        """What has the workers of this machine wait here."""
        return {
            "DASK_DISTRIBUTED__WORKER__PRELOAD": json.dumps([__file__]),
            VARIABLE: str(self.path),
        }

    def admit(self, count: int) -> None:
        """Let so many more files through."""
        for number in range(count):
            (self.path / f"permit-{time.monotonic_ns()}-{number}").touch()

    def open(self) -> None:
        """Let all through from now on."""
        (self.path / "open").touch()

    def wait(self) -> None:
        """Wait for a permit, and take it."""
        while not ((self.path / "open").exists() or self._taken()):
            time.sleep(0.01)

    def _taken(self) -> bool:
        for permit in self.path.glob("permit-*"):
            try:
                permit.unlink()
            except FileNotFoundError:
                continue  # another worker was quicker
            return True
        return False


def dask_setup(_worker: object) -> None:
    """Have files wait that are written, but do not have their names yet."""
    gate, fsync = Gate(Path(os.environ[VARIABLE])), os.fsync

    def held(descriptor: int) -> None:
        gate.wait()
        fsync(descriptor)

    os.fsync = held
