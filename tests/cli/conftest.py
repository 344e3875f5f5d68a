"""A state directory of the tests' own, and the command line without a process around it."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dynaserve.cli import anonymizing, app
from tests.cli.anonymized import TEXT, Fake


@pytest.fixture(autouse=True)
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "state"
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(directory))
    for name in ("NOISE_KEY", "DEFENSE", "DEBUG", "SOURCE", "WORKERS", "MAX_ROWS"):
        monkeypatch.delenv(f"DYNASERVE_{name}", raising=False)
    return directory


@pytest.fixture
def run():
    """Run ``dynaserve`` with these arguments; the result has exit_code, stdout and stderr."""
    return lambda *arguments: CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Stand in for the anonymizer of ``dynaserve anonymize``."""
    fake = Fake()
    monkeypatch.setattr(anonymizing, "make_anonymizers", fake.make)
    return fake


@pytest.fixture
def pipe() -> Callable[..., Any]:
    """Run ``dynaserve anonymize`` with this input and these arguments."""
    return lambda given, *arguments: CliRunner().invoke(
        app, ["anonymize", *map(str, arguments)], input=given
    )


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def full_disk() -> Callable[[int], AbstractContextManager[None]]:
    """Let no file get longer than this, as a disk that is full does."""

    @contextmanager
    def limited(size: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited
