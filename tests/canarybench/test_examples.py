"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "canaries",
        "clustering",
        "conversations",
        "corpus",
        "pipeline",
        "planting",
        "summarizers",
    ],
)
def test_the_examples_run(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"dynaserve.canarybench.{module}"))
    assert result.attempted > 0
    assert result.failed == 0
