from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

import pytest

from dynaserve.serving.access import records as module
from dynaserve.serving.access.records import KeyRecord, changing, default_path, read_records
from tests.serving.access.conftest import CREATED, KeyFile, secret_of

ID = "a" * 12
DIGEST = "0" * 64
SECRET = "s3cret-of-somebody"
TABLE = f'[keys.{ID}]\nname = "n"\nsha256 = "{DIGEST}"\ncreated = 2026-01-01T00:00:00Z\n'


def test_keys_are_read_back_as_they_were_written(key_file: KeyFile) -> None:
    later = datetime(2027, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    key_file.put(ID, name="team ä", requests_per_second=2.5, rows_per_day=7, expires=later)
    key_file.put("b" * 12, role="monitor", revoked=later)
    found = read_records(key_file.path)
    assert list(found) == [ID, "b" * 12]
    one, other = found.values()
    assert (one.name, one.requests_per_second, one.rows_per_day) == ("team ä", 2.5, 7)
    assert (one.role, one.created, one.expires, one.revoked) == ("client", CREATED, later, None)
    assert (other.role, other.expires, other.revoked) == ("monitor", None, later)


def test_the_file_is_its_users_alone_and_holds_no_secret(key_file: KeyFile) -> None:
    before = os.umask(0)
    try:
        key_file.put(ID)
    finally:
        os.umask(before)
    assert stat.S_IMODE(key_file.path.stat().st_mode) == 0o600
    assert secret_of(ID) not in key_file.path.read_text()
    assert [each.name for each in key_file.path.parent.iterdir()] == ["api_keys.toml"]


@pytest.mark.parametrize(
    ("mode", "after"),
    [(0o600, 0o600), (0o640, 0o640), (0o644, 0o644), (0o400, 0o600), (0o755, 0o644)],
)
def test_a_change_keeps_who_may_read_it(key_file: KeyFile, mode: int, after: int) -> None:
    key_file.put(ID)
    key_file.path.chmod(mode)
    key_file.put("b" * 12)
    assert stat.S_IMODE(key_file.path.stat().st_mode) == after
    assert len(read_records(key_file.path)) == 2
    assert [each.name for each in key_file.path.parent.iterdir()] == ["api_keys.toml"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_a_change_keeps_whose_it_is(key_file: KeyFile, monkeypatch: pytest.MonkeyPatch) -> None:
    key_file.put(ID)
    os.chown(key_file.path, 4711, 4712)
    key_file.path.chmod(0o640)
    key_file.path.parent.chmod(0o755)
    os.chown(key_file.path.parent, 4711, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    key_file.put("b" * 12)
    info = key_file.path.stat()
    assert (info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)) == (4711, 4712, 0o640)


@pytest.mark.parametrize("number", [errno.EPERM, errno.EINVAL])  # the latter in user namespaces
def test_who_may_give_nothing_away_opens_it_to_no_other_group(
    key_file: KeyFile, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    key_file.put(ID)
    key_file.path.chmod(0o644)
    monkeypatch.setattr(module.os, "chown", refuse)
    key_file.put("b" * 12)
    assert stat.S_IMODE(key_file.path.stat().st_mode) == 0o604


def test_a_change_that_cannot_be_put_in_place_leaves_nothing_behind(
    key_file: KeyFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    key_file.put(ID)
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="cross-device"):
        key_file.put("b" * 12)
    assert [each.name for each in key_file.path.parent.iterdir()] == ["api_keys.toml"]
    assert list(read_records(key_file.path)) == [ID]


def test_state_and_validity_follow_the_dates() -> None:
    day = datetime(2026, 6, 1, tzinfo=timezone.utc)
    plain = KeyRecord(name="n", sha256=DIGEST, created=CREATED)
    ends = plain.model_copy(update={"expires": day})
    assert plain.state(day) == "valid"
    assert ends.state(day.replace(day=1, month=5)) == "valid"
    assert ends.state(day) == "expired"
    assert ends.valid_until == 1_780_272_000  # date -d 2026-06-01T00:00Z +%s
    gone = ends.model_copy(update={"revoked": CREATED})
    assert (gone.state(CREATED), gone.valid_until) == ("revoked", 0)


def test_a_change_that_fails_changes_nothing(key_file: KeyFile) -> None:
    key_file.put(ID)
    before = key_file.path.read_bytes()
    with suppress(RuntimeError), changing(key_file.path) as records:
        records.clear()
        raise RuntimeError
    assert key_file.path.read_bytes() == before


def test_keys_made_at_once_are_all_there(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from dynaserve.serving.access.keys import new_id\n"
        "from dynaserve.serving.access.records import KeyRecord, changing, now\n"
        "for _ in range(25):\n"
        "    with changing(Path(sys.argv[1])) as records:\n"
        f"        records[new_id()] = KeyRecord(name='n', sha256='{DIGEST}', created=now())\n"
    )
    racing = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(3)]
    assert [each.wait(60) for each in racing] == [0, 0, 0]
    assert len(read_records(path)) == 75


def test_a_link_stays_one(key_file: KeyFile, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    key_file.put(ID)
    link.symlink_to(key_file.path)
    KeyFile(link).put("b" * 12)
    assert link.is_symlink()
    assert len(read_records(link)) == len(read_records(key_file.path)) == 2


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_refused(key_file: KeyFile, mode: int) -> None:
    key_file.put(ID)
    key_file.path.chmod(mode)
    with pytest.raises(ValueError, match=f"others can write it \\(mode {mode:04o}\\)"):
        read_records(key_file.path)
    with pytest.raises(ValueError, match="others can write"), changing(key_file.path):
        pass


def test_a_file_that_others_can_only_read_is_taken(key_file: KeyFile) -> None:
    """A secret that an orchestrator mounts often is."""
    key_file.put(ID)
    key_file.path.chmod(0o444)
    assert list(read_records(key_file.path)) == [ID]


def test_a_directory_in_which_others_could_replace_it_is_refused(key_file: KeyFile) -> None:
    key_file.put(ID)
    directory = key_file.path.parent
    directory.chmod(0o777)
    with pytest.raises(ValueError, match="others could replace"):
        read_records(key_file.path)
    directory.chmod(0o1777)  # as /tmp: only owners replace
    assert list(read_records(key_file.path)) == [ID]
    directory.chmod(0o700)


def test_somebody_elses_file_is_refused(key_file: KeyFile, monkeypatch: pytest.MonkeyPatch) -> None:
    key_file.put(ID)
    owner = os.geteuid()
    if owner == 0:
        os.chown(key_file.path, 4711, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(ValueError, match="belongs to user"):
        read_records(key_file.path)


def test_a_pipe_or_a_directory_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(ValueError, match="is not a regular file"):
        read_records(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"cannot be read \(Is a directory\)"):
        read_records(tmp_path)


def test_a_file_that_is_not_there_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="dynaserve keys create NAME --file"):
        read_records(tmp_path / "none.toml")
    with pytest.raises(OSError, match="is not a directory"), changing(tmp_path / "no" / "k.toml"):
        pass


def test_a_file_that_cannot_be_opened_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(module.os, "open", refuse)
    with pytest.raises(OSError, match=r"cannot be read \(Permission denied\)"):
        read_records(tmp_path / "k.toml")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "is not UTF-8"),
        (f"{SECRET}\n".encode(), "is not TOML"),
        (f'x = "{SECRET}\n'.encode(), "is not TOML at line 1, column"),
        (f"{SECRET} = 1\n".encode(), "is no file of API keys"),
        (b"", "is no file of API keys"),
        (b"keys = " + b"[" * 100_000, "is not TOML"),
        (b"keys = " + b"9" * 100_000, "is not TOML|is no file of API keys"),
        (b"keys = 3\n", "is no file of API keys"),
        (f"{TABLE}[more]\n".encode(), "is no file of API keys"),
        (f"[keys.{SECRET}]\n".encode(), "an id that is not 12 hexadecimal digits"),
        (f"[keys]\n{ID} = 3\n".encode(), rf"\[keys.{ID}\]"),
        (f"{TABLE}{TABLE}".encode(), "is not TOML"),
        (f'{TABLE}{SECRET} = "{SECRET}"\n'.encode(), "a field that is not known: Extra"),
        (f'{TABLE}role = "{SECRET}"\n'.encode(), "role: Input should be 'client' or 'monitor'"),
        (f'{TABLE}rows_per_day = "{SECRET}"\n'.encode(), "rows_per_day: Input should be"),
        (f"{TABLE}rows_per_day = 0\n".encode(), "rows_per_day: Input should be greater"),
        (f"{TABLE}requests_per_second = inf\n".encode(), "requests_per_second: Input should be"),
        (f"{TABLE}requests_per_second = -1\n".encode(), "requests_per_second: Input should be"),
        (f"{TABLE}expires = 2026-01-01T00:00:00\n".encode(), "expires: .*timezone"),
        (TABLE.replace(DIGEST, SECRET).encode(), "sha256: String should match"),
        (TABLE.replace('"n"', '"a\\nb"').encode(), "name: String should match"),
    ],
)
def test_what_is_no_file_of_keys_is_refused_and_not_quoted(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "k.toml"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ValueError, match=message) as error:
        read_records(path)
    assert SECRET not in str(error.value)
    assert error.value.__context__ is None or error.value.__suppress_context__


def test_the_usual_place_is_in_the_state_directory(state_directory: Path) -> None:
    assert default_path() == state_directory / "api_keys.toml"
