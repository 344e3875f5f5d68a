from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

import pytest

from dynaserve import _core


def _isa_under(wanted: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from dynaserve import _core; print(_core.isa())"],
        env={**os.environ, "DYNASERVE_ISA": wanted},
        capture_output=True,
        text=True,
        check=False,
    )


def test_scalar_is_always_there_and_comes_first() -> None:
    assert _core.available_isas()[0] == "scalar"


def test_widest_set_is_the_default() -> None:
    assert _isa_under("").stdout.strip() == _core.available_isas()[-1]


@pytest.mark.parametrize("isa", _core.available_isas())
def test_environment_forces_a_set(isa: str) -> None:
    assert _isa_under(isa).stdout.strip() == isa


def test_unknown_set_is_refused_at_import_with_the_choices() -> None:
    run = _isa_under("sse9")
    assert run.returncode != 0
    assert "DYNASERVE_ISA=sse9 is not available here" in run.stderr
    assert ", ".join(_core.available_isas()) in run.stderr


def test_forced_copies_are_independent(core: ModuleType) -> None:
    assert core.available_isas() == _core.available_isas()
