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


def test_importing_the_package_waits_with_the_core_and_what_it_needs() -> None:
    code = "import sys, dynaserve; print({'numpy', 'pydantic', 'dynaserve._core'} & {*sys.modules})"
    assert run(code).strip() == "set()"


def test_a_core_that_cannot_load_is_an_error_of_its_first_use() -> None:
    code = (
        "import os; os.environ['DYNASERVE_ISA'] = 'avx9'; import dynaserve\n"
        "try: dynaserve.DynaNoise\n"
        "except ImportError as error: print(error)"
    )
    assert "DYNASERVE_ISA=avx9 is not available here" in run(code)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'DynaNoize'"):
        _ = dynaserve.DynaNoize


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
    assert set(dynaserve.__all__) <= set(dir(dynaserve))
