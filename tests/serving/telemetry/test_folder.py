from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dynaserve.serving.telemetry.folder import CLIENT_FOLDER, OWN_FOLDER, use_own_folder

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


def test_a_worker_counts_where_its_supervisor_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CLIENT_FOLDER, "/bentoml's")
    monkeypatch.delenv(OWN_FOLDER, raising=False)
    use_own_folder()
    assert os.environ[CLIENT_FOLDER] == "/bentoml's"
    monkeypatch.setenv(OWN_FOLDER, "/ours")
    use_own_folder()
    assert os.environ[CLIENT_FOLDER] == "/ours"
