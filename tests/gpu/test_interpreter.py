from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="triton is not installed (extra gpu, Linux only)")

ROOT = Path(__file__).parent.parent.parent


def test_the_kernels_are_right_in_tritons_interpreter() -> None:
    """Triton reads the variable at import, so the kernels need a process of their own."""
    command = [sys.executable, "-m", "pytest", "tests/gpu/kernels", "-q", "-p", "no:cacheprovider"]
    # A GPU computes -inf - -inf without a word; the interpreter's numpy warns.
    quiet = ["-W", "ignore::RuntimeWarning:triton.runtime.interpreter"]
    ran = subprocess.run(
        [*command, *quiet],
        cwd=ROOT,
        env=os.environ | {"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "skipped" not in ran.stdout
