"""Every instruction set of this build, side by side in one process."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from dynaserve import _core


def _load(isa: str, folder: Path) -> ModuleType:
    """Load a copy of the extension that runs on `isa`: the choice is made once, at import."""
    source = Path(_core.__file__)
    copy = folder / isa / source.name
    copy.parent.mkdir()
    shutil.copy(source, copy)
    spec = importlib.util.spec_from_file_location(f"{isa}._core", copy)
    assert spec is not None
    assert spec.loader is not None
    before = os.environ.get("DYNASERVE_ISA")
    os.environ["DYNASERVE_ISA"] = isa
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        if before is None:
            del os.environ["DYNASERVE_ISA"]
        else:
            os.environ["DYNASERVE_ISA"] = before
    assert module.isa() == isa
    return module


@pytest.fixture(scope="session", params=_core.available_isas())
def core(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """`dynaserve._core` on each instruction set in turn."""
    loaded = request.config.stash.setdefault(_LOADED, {})
    if request.param not in loaded:
        loaded[request.param] = _load(request.param, tmp_path_factory.mktemp("core"))
    return loaded[request.param]


_LOADED: pytest.StashKey[dict[str, ModuleType]] = pytest.StashKey()
