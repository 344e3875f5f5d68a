from __future__ import annotations

import os
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dynaserve.serving.telemetry.folder import CLIENT_FOLDER, FILES, OWN_FOLDER, use_own_folder

MAKE = """\
import os, stat
from dynaserve.serving.telemetry.folder import make_own_folder
folder = make_own_folder()
assert os.environ["DYNASERVE_METRICS_DIR"] == folder
open(os.path.join(folder, "counter_1.db"), "w").close()
print(folder, oct(stat.S_IMODE(os.stat(folder).st_mode)))
"""


def test_each_supervisor_has_its_own_folder_and_takes_it_along(tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    made = [
        subprocess.run(
            [sys.executable, "-c", MAKE],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        for _ in range(2)
    ]
    folders = {Path(folder) for folder, _ in made}
    assert len(folders) == 2
    assert {mode for _, mode in made} == {oct(stat.S_IRWXU)}
    assert all(folder.parent == tmp_path for folder in folders)
    assert not any(folder.exists() for folder in folders)


def test_a_worker_counts_where_its_supervisor_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(CLIENT_FOLDER, "/bentoml's")
    monkeypatch.delenv(OWN_FOLDER, raising=False)
    use_own_folder()
    assert os.environ[CLIENT_FOLDER] == "/bentoml's"
    monkeypatch.setenv(OWN_FOLDER, str(tmp_path))
    use_own_folder()
    assert os.environ[CLIENT_FOLDER] == str(tmp_path)


COUNT = """\
from dynaserve.serving.telemetry.counts import count_end, expect_reasons
from dynaserve.serving.visit import Visit

expect_reasons()
for endpoint in range(40):
    for status in range(400, 420):
        visit = Visit(id="", endpoint=f"/v2/models/model/versions/{endpoint}/infer")
        visit.status, visit.model, visit.refused = status, 1.0, "malformed"
        count_end(visit, 1.0)
"""


def count(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", COUNT],
        env=os.environ | {OWN_FOLDER: str(folder)},
        check=True,
        capture_output=True,
        text=True,
    )


def test_the_room_of_a_workers_files_is_taken_up_before_it_counts_and_is_enough(
    tmp_path: Path,
) -> None:
    count(tmp_path)
    files = {path.name.rpartition("_")[0]: path for path in tmp_path.iterdir()}
    assert {kind: path.stat().st_size for kind, path in files.items()} == FILES
    assert all(path.stat().st_blocks * 512 >= FILES[kind] for kind, path in files.items())
    # What was counted is in them: 40 endpoints, each with 20 statuses.
    (used,) = struct.unpack("i", files["counter"].read_bytes()[:4])
    assert 800 * 100 < used < FILES["counter"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Make a disk of 1 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mounted, check=False, capture_output=True).returncode:
        pytest.skip("cannot mount a disk")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_on_a_full_disk_a_supervisor_does_not_start(small_disk: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", MAKE],
        env=os.environ | {"TMPDIR": str(small_disk)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 1
    assert "no room for the counts of a worker" in made.stderr
    assert list(small_disk.iterdir()) == []


def test_on_a_full_disk_a_worker_counts_by_itself_and_lives(small_disk: Path) -> None:
    told = count(small_disk)
    assert "the metrics go without this worker" in told.stderr
    assert list(small_disk.iterdir()) == []


def test_the_file_of_a_dead_worker_with_the_same_id_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(CLIENT_FOLDER, "")  # so that it is put back
    monkeypatch.setenv(OWN_FOLDER, str(tmp_path))
    mine = tmp_path / f"counter_{os.getpid()}.db"
    mine.write_bytes(b"counts")
    use_own_folder()
    assert mine.read_bytes() == b"counts"
    assert len(list(tmp_path.iterdir())) == len(FILES)
