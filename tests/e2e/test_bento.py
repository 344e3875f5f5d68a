"""``bentoml build`` in ``bentos/classifier``, ``dynaserve bento build``, and servers from both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from dynaserve import RankTemplate, __version__
from tests.e2e.conftest import Server

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
ROWS = [[-1.0, -1.0], [3.0, 3.0]]
MAIN = "from dynaserve.cli import main; main()"


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


@pytest.fixture(scope="module")
def baked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Return a bento with a model and a defense of its own, and what they answer to ``ROWS``.

    It is built in a folder of its own, not in that of the checkout's service.
    """
    here = tmp_path_factory.mktemp("baked")
    rng = np.random.default_rng(8)
    labels = np.arange(300) % 3
    rows = rng.normal(size=(300, 2)) + labels[:, None]
    model = LogisticRegression().fit(rows, np.array(["a", "b", "c"])[labels])
    skops.io.dump(model, here / "letters.skops")
    template = RankTemplate.calibrate(model.decision_function(rows), labels)
    template.save(here / "mine.toml")
    options = ["--model", "letters.skops", "--defense", "mine.toml", "--version", "baked"]
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "bento", "build", "classifier", *options, "--json"],
        cwd=here,
        env=os.environ
        | {
            "BENTOML_HOME": str(here / "store"),
            "BENTOML_DO_NOT_TRACK": "1",
            "DYNASERVE_STATE_DIR": str(here / "state"),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    facts = json.loads(done.stdout)
    assert facts["bento"] == "classifier:baked"
    assert not (here / "state" / "noise.key").exists()
    return Path(facts["path"]), template(model.decision_function(ROWS))


def test_a_bento_holds_what_was_baked_in_and_nothing_else(baked: Any) -> None:
    path, _ = baked
    source = {file.relative_to(path / "src").as_posix() for file in (path / "src").rglob("*.*")}
    assert source - {"wheels/.gitignore", "bentofile.yaml", ".bentoignore"} == {
        "service.py",
        "letters.skops",
        "defense.toml",
        f"wheels/dynaserve-{__version__}.tar.gz",
    }


def test_a_bento_serves_the_model_and_the_defense_that_were_baked_in(
    baked: Any, environment: dict[str, str], tmp_path: Path
) -> None:
    path, defended = baked
    # Told of neither: a variable that is set comes before what is baked in.
    server = Server(str(path), environment | {"BENTOML_HOME": str(tmp_path)}, tmp_path / "log")
    server.start()
    try:
        answer = server.predict(ROWS).json()
    finally:
        server.stop()
    assert answer["labels"] == ["a", "c"]
    np.testing.assert_allclose(answer["probabilities"], defended, atol=1e-6)
