"""``bentoml build`` in ``bentos/classifier``, and a server from what it built."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from dynaserve import __version__

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bento(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("store")
    done = subprocess.run(
        [sys.executable, "-m", "bentoml", "build", "--version", "built"],
        cwd=ROOT / "bentos" / "classifier",
        env=os.environ | {"BENTOML_HOME": str(home), "BENTOML_DO_NOT_TRACK": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "bentos" / "classifier" / "built"


def test_it_carries_the_whole_source_of_the_core(bento: Path) -> None:
    with tarfile.open(bento / "src" / "wheels" / f"dynaserve-{__version__}.tar.gz") as archive:
        carried = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {path.relative_to(ROOT).as_posix() for path in (ROOT / "csrc").rglob("*.[ch]*")}
    assert wanted <= carried
    assert {"setup.py", "pyproject.toml", "dynaserve/serving/classifier.py"} <= carried


def test_its_requirements_are_locked_and_name_no_path_of_this_machine(bento: Path) -> None:
    lines = (bento / "env" / "python" / "requirements.txt").read_text().splitlines()
    assert f"dynaserve@file:./wheels/dynaserve-{__version__}.tar.gz" in lines
    packages = [line for line in lines if line and not line.startswith(("-", "dynaserve"))]
    assert all("==" in package for package in packages)
    assert any(package.startswith("bentoml==") for package in packages)
    assert str(ROOT) not in "\n".join(lines)


def test_it_is_small_and_holds_no_key_and_no_model(bento: Path) -> None:
    names = {path.name for path in bento.rglob("*") if path.is_file()}
    assert not {name for name in names if name.endswith((".key", ".skops", ".npz", ".so"))}


def test_the_built_bento_serves(bento: Path, serve: Any, digits: Any) -> None:
    answer = serve(str(bento)).predict(digits[:2])
    assert answer.status_code == 200
    assert answer.json()["labels"] == [0, 1]
