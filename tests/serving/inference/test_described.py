from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dynaserve.serving.inference.answer import Labels
from dynaserve.serving.inference.described import Described, name_of


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("iris.onnx", "iris"),
        ("iris.v2.onnx", "iris.v2"),
        ("Iris_2-b.skops", "Iris_2-b"),
        ("my iris.pt2", "my-iris"),
        ("iris/../x?.pt", "x"),
        ("iris.v2:k3v2jh", "iris.v2"),
        ("digits (embedded default)", "digits"),
        ("Bärlauch.pt", "B-rlauch"),
        ("...", "model"),
        ("", "model"),
        ("ä", "model"),
    ],
)
def test_a_name_fits_in_a_path(model: str, name: str) -> None:
    assert name_of(model) == name


def test_metadata_says_what_goes_in_and_comes_out() -> None:
    model: Any = SimpleNamespace(
        name="iris.onnx", version="0123456789abcdef", dtype=np.dtype(np.float16),
        input_shape=(None, 4), classes=["a", "b", "c"],
    )  # fmt: skip
    described = Described.of(model, Labels(model.classes))
    assert described.metadata == {
        "name": "iris",
        "versions": ["0123456789ab"],
        "platform": "dynaserve",
        "inputs": [{"name": "inputs", "datatype": "FP16", "shape": [-1, -1, 4]}],
        "outputs": [
            {"name": "probabilities", "datatype": "FP32", "shape": [-1, 3]},
            {"name": "labels", "datatype": "BYTES", "shape": [-1]},
        ],
    }
    assert described.answered == {"model_name": "iris", "model_version": "0123456789ab"}
