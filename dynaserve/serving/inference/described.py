"""What a served model is called over the protocol, and what it says of itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from dynaserve._version import __version__
from dynaserve.serving.inference.answer import Labels
from dynaserve.serving.inference.datatypes import FP32, datatype_of
from dynaserve.serving.inference.tensors import NAME
from dynaserve.serving.models import Model

SERVER = {"name": "dynaserve", "version": __version__, "extensions": ["binary_tensor_data"]}
VERSION_CHARACTERS = 12
"""Of the digest of the model file: enough to tell two models apart, and fit for a path."""


def name_of(model: str) -> str:
    """Return a name that fits in a path: of ``iris.onnx`` ``iris``, of a tag what is before ``:``.

    Examples
    --------
    >>> name_of("iris flowers.v2.onnx"), name_of("iris:k3v2"), name_of("digits (embedded default)")
    ('iris-flowers.v2', 'iris', 'digits')
    """
    tag, colon, _ = model.partition(":")
    bare = tag if colon else re.sub(r" \(.*\)$", "", PurePath(model).name)
    stem = bare if colon else PurePath(bare).stem
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "model"


@dataclass(frozen=True)
class Described:
    """A model as the protocol names it."""

    name: str
    version: str
    metadata: dict[str, Any]

    @classmethod
    def of(cls, model: Model, labels: Labels, name: str | None = None) -> Described:
        """Describe a model, which is called ``name``, or by its file or tag."""
        name, version = name or name_of(model.name), model.version[:VERSION_CHARACTERS]
        row = [-1 if size is None else size for size in model.input_shape]
        inputs = [{"name": NAME, "datatype": datatype_of(model.dtype), "shape": [-1, *row]}]
        outputs = [
            {"name": "probabilities", "datatype": FP32, "shape": [-1, len(model.classes)]},
            {"name": "labels", "datatype": labels.datatype, "shape": [-1]},
        ]
        metadata = {
            "name": name,
            "versions": [version],
            "platform": "dynaserve",
            "inputs": inputs,
            "outputs": outputs,
        }
        return cls(name, version, metadata)

    @property
    def answered(self) -> dict[str, Any]:
        """Fields that every answer of the model has."""
        return {"model_name": self.name, "model_version": self.version}

    @property
    def listed(self) -> dict[str, Any]:
        """The model in the index of Triton's model repository extension."""
        return {"name": self.name, "version": self.version, "state": "READY", "reason": ""}
