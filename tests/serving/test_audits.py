from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dynaserve.serving.audits import AuditFiles

NAMES = [f"{number:032x}" for number in range(5)]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(tmp_path))
    return tmp_path / "audits"


def aged(directory: Path, name: str, seconds: float) -> None:
    path = directory / f"{name}.json"
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def test_a_report_is_found_by_its_name_also_by_another_process() -> None:
    AuditFiles(10, 60).put(NAMES[0], b"{}")
    assert AuditFiles(10, 60).get(NAMES[0]) == b"{}"
    assert AuditFiles(10, 60).get(NAMES[1]) is None


def test_only_this_user_can_read_it(directory: Path) -> None:
    AuditFiles(10, 60).put(NAMES[0], b"{}")
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / f"{NAMES[0]}.json").stat().st_mode) == 0o600


def test_the_oldest_go_when_there_are_too_many(directory: Path) -> None:
    audits = AuditFiles(2, 1000)
    for age, name in enumerate(NAMES):
        audits.put(name, b"{}")
        aged(directory, name, 100 - 10 * age)
    audits.put(NAMES[0], b"new")
    assert [audits.get(name) for name in NAMES] == [b"new", None, None, None, b"{}"]
    assert len([*directory.iterdir()]) == 2


def test_what_is_too_old_is_not_shown_and_goes_with_the_next(directory: Path) -> None:
    audits = AuditFiles(10, 60)
    audits.put(NAMES[0], b"{}")
    aged(directory, NAMES[0], 61)
    assert audits.get(NAMES[0]) is None
    audits.put(NAMES[1], b"{}")
    assert [path.stem for path in directory.iterdir()] == [NAMES[1]]


@pytest.mark.parametrize(
    "name", ["", "..", "../manifest", "A" * 32, "0" * 31, "0" * 33, "0" * 32 + "\n"]
)
def test_a_name_that_is_no_id_reaches_no_file(name: str, directory: Path) -> None:
    directory.mkdir()
    (directory.parent / "manifest.json").write_text("secret")
    (directory / f"{'A' * 32}.json").write_text("secret")
    assert AuditFiles(10, 60).get(name) is None
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        AuditFiles(10, 60).put(name, b"")


def test_a_directory_that_cannot_be_made_is_told_with_the_variable(
    tmp_path: Path,
) -> None:
    (tmp_path / "audits").write_text("a file")
    with pytest.raises(OSError, match="DYNASERVE_STATE_DIR"):
        _ = AuditFiles(10, 60).directory
