from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="triton is not installed (extra gpu, Linux only)")

ROOT = Path(__file__).parent.parent.parent
KERNELS = Path(__file__).parent / "kernels"
MEASURED = {"test_defenses.py", "test_device_script.py"}
"""Files that between them run each line of the kernels.

Measuring coverage takes twice the interpreter's own time, and the others would add nothing to it.
"""


@pytest.mark.parametrize("name", sorted(path.name for path in KERNELS.glob("test_*.py")))
def test_the_kernels_are_right_in_tritons_interpreter(name: str) -> None:
    """Triton reads the variable at import, so the kernels need a process of their own."""
    command = [sys.executable, "-m", "pytest", str(KERNELS / name), "-q", "-p", "no:cacheprovider"]
    # A GPU computes -inf - -inf without a word; the interpreter's numpy warns.
    quiet = ["-W", "ignore::RuntimeWarning:triton.runtime.interpreter"]
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    if name not in MEASURED:
        environment.pop("COVERAGE_PROCESS_CONFIG", None)
    ran = subprocess.run(
        [*command, *quiet],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "passed" in ran.stdout
    assert "skipped" not in ran.stdout
