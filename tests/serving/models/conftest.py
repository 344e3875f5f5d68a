"""Real small models of every format, made once, and a state directory of the tests' own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression


@pytest.fixture(autouse=True)
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "state"
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(directory))
    return directory


@pytest.fixture(scope="session")
def iris() -> tuple[np.ndarray, np.ndarray]:
    return load_iris(return_X_y=True)


@pytest.fixture(scope="session")
def logistic(iris) -> LogisticRegression:
    return LogisticRegression(max_iter=1000).fit(*iris)
