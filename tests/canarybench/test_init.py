from __future__ import annotations

import subprocess
import sys

import pytest

from dynaserve import canarybench


def test_every_public_name_is_there():
    assert all(hasattr(canarybench, name) for name in canarybench.__all__)
    assert set(canarybench.__all__) <= set(dir(canarybench))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'plnt'"):
        _ = canarybench.plnt


def test_importing_it_loads_nothing_heavy():
    code = (
        "import sys, dynaserve.canarybench.pytest_plugin\n"
        "print({'numpy', 'pydantic', 'rich', 'sklearn', 'scipy', 'ahocorasick'} & {*sys.modules})"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "set()"


def test_auditing_loads_neither_scikit_learn_nor_scipy():
    code = (
        "import sys; from dynaserve.canarybench import audit_release\n"
        "print({'sklearn', 'scipy'} & {*sys.modules})"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "set()"
