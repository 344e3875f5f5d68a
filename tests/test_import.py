from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dynaserve

HEAVY = [
    "torch",
    "triton",
    "bentoml",
    "sklearn",
    "scipy",
    "onnxruntime",
    "llama_cpp",
    "dask",
    "typer",
]


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_importing_the_package_loads_no_framework() -> None:
    loaded = run(f"import sys, dynaserve; print([m for m in {HEAVY} if m in sys.modules])")
    assert loaded.strip() == "[]"


def test_defending_numpy_loads_no_framework() -> None:
    code = (
        "import sys, numpy, dynaserve;"
        "dynaserve.DynaNoise.paper()(numpy.zeros((2, 3)));"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    assert run(code).strip() == "[]"


def test_the_version_is_that_of_the_distribution() -> None:
    pyproject = Path(__file__).parent.parent / "pyproject.toml"
    if not pyproject.exists():
        pytest.skip("tests run apart from the source tree")
    assert f'\nversion = "{dynaserve.__version__}"\n' in pyproject.read_text()


def test_the_public_names_are_there() -> None:
    assert set(dynaserve.__all__) == {
        "DynaNoise",
        "DynaNoiseConfig",
        "RankTemplate",
        "__version__",
        "load_defense",
    }
    assert all(hasattr(dynaserve, name) for name in dynaserve.__all__)
