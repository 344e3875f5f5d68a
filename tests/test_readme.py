"""The README's Python runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

README = Path(__file__).parent.parent / "README.md"


def _blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_library_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(_blocks()[0], names)
    assert names["probabilities"].shape == (8, 5)
    assert (tmp_path / "defense.toml").is_file()


def test_the_decorator_example_is_a_service_that_defends() -> None:
    names: dict[str, Any] = {"__name__": "readme"}
    exec(_blocks()[1], names)
    service = names["Digits"]
    assert list(service.apis) == ["predict"]
    inputs = np.eye(64, dtype=np.float32)[:3]
    released = service.inner().predict(inputs)
    np.testing.assert_allclose(released.sum(axis=1), 1, atol=1e-5)
    assert np.unique(released).size > 3  # the logits themselves are all equal
