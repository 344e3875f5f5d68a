"""Key files with known keys, clocks that the tests set, and a gate asked without a socket."""

from __future__ import annotations

import hashlib
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ports import free_port
from dynaserve.serving.access.records import KeyRecord, changing

CREATED = datetime(2026, 1, 1, tzinfo=timezone.utc)


def secret_of(identity: str) -> str:
    return hashlib.blake2b(identity.encode(), digest_size=32).hexdigest()


def key_of(identity: str) -> str:
    return f"dyn_{identity}_{secret_of(identity)}"


@dataclass
class KeyFile:
    path: Path

    def put(self, identity: str, **fields: Any) -> str:
        """Write one key, and return it."""
        digest = hashlib.sha256(secret_of(identity).encode()).hexdigest()
        fields = {"name": identity, "created": CREATED} | fields
        with changing(self.path) as records:
            records[identity] = KeyRecord(sha256=digest, **fields)
        return key_of(identity)


@pytest.fixture
def key_file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "api_keys.toml")


@dataclass
class Clock:
    """Seconds that pass when a test says so."""

    seconds: float = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds

    def step(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Stand in for the clock on the wall, which can be set."""
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    return clock


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Stand in for the clock that only runs on."""
    ticks = Clock()
    monkeypatch.setattr(time, "monotonic", ticks)
    return ticks


@dataclass
class Redis:
    """A Redis of the test's own, which keeps nothing."""

    binary: str
    directory: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        if not self.port:
            self.port = free_port()
        self.process = subprocess.Popen(
            [self.binary, "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""],
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
        )
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("redis-server did not start")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.skip("needs redis-server")
    server = Redis(binary, tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def broken() -> Callable[..., Any]:
    """Stand in for something that must not be called, or that fails."""

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    return fail
