"""Find the model file behind a BentoML model tag.

Only the store's folder is read: BentoML's own loaders unpickle, the ones here ask first.
"""

from __future__ import annotations

import re
from pathlib import Path

from dynaserve.serving.models.file import ModelFile
from dynaserve.serving.models.imports import require
from dynaserve.serving.models.protocol import ModelError

_TAG = re.compile(r"[a-z0-9]([a-z0-9._/-]*[a-z0-9])?:[a-z0-9]([a-z0-9._-]*[a-z0-9])?")
_SIDE_FILES = frozenset({"model.yaml", "custom_objects.pkl"})


def is_tag(source: str) -> bool:
    """Whether ``source`` is spelled like ``name:version``."""
    return _TAG.fullmatch(source) is not None


def read(tag: str, suffixes: frozenset[str]) -> ModelFile:
    """Return the one file with one of ``suffixes`` of the model ``tag`` (or ``name:latest``).

    Raises
    ------
    ModelError
        If the store has no such model, or its folder not exactly one such file.
    """
    bentoml = require("bentoml", extra="serve")
    try:
        model = bentoml.models.get(tag)
    except bentoml.exceptions.BentoMLException as error:
        raise ModelError(f"BentoML model {tag}: {error}; see `bentoml models list`") from None
    folder = Path(model.path)
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in suffixes and path.name not in _SIDE_FILES and path.is_file()
    ]
    if len(files) != 1:
        found = ", ".join(str(path.relative_to(folder)) for path in files) or "none"
        raise ModelError(
            f"BentoML model {model.tag} must hold exactly one model file "
            f"({', '.join(sorted(suffixes))}); found: {found}"
        )
    return ModelFile.read(files[0], name=str(model.tag))
