"""Read ``.pt`` files: TorchScript saved by ``torch.jit.save``, never a pickled module.

Nothing is loaded before ``torch_archive`` has passed the file, unless the user vouches for it.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from dynaserve.serving.models.export_file import module_scores, numpy_dtype
from dynaserve.serving.models.file import ModelFile
from dynaserve.serving.models.imports import require
from dynaserve.serving.models.loaded import LoadedModel, Scores, from_scores, run_probe
from dynaserve.serving.models.protocol import ModelError
from dynaserve.serving.models.torch_archive import ArchiveReader, check_torchscript

_SHAPE = "input_shape"
_Shape = tuple[int | None, ...]


def load(file: ModelFile, *, trust_pickle: bool) -> LoadedModel:
    """Load a TorchScript classifier of one tensor.

    TorchScript does not record the shape of a row. It is taken from the extra file
    ``input_shape`` (JSON, such as ``[3, 32, 32]``), else from the first weight that fits.

    Raises
    ------
    ModelError
        If the file is unsafe without ``trust_pickle``, not TorchScript, or no such classifier.
    """
    archive = _open(file)
    if not trust_pickle:
        check_torchscript(file, archive)
    jit = require("torch.jit", extra="torch")
    extra = {_SHAPE: ""}
    try:
        module = jit.load(io.BytesIO(file.content), map_location="cpu", _extra_files=extra)
        module.eval()
    except Exception as error:
        raise file.unreadable("a TorchScript file", error) from error
    parameters = [parameter for parameter in module.parameters() if parameter.is_floating_point()]
    dtype = numpy_dtype(parameters[0].dtype, file.name) if parameters else np.dtype(np.float32)
    scores = module_scores(module)
    shape = _declared_shape(extra[_SHAPE], file.name) or next(
        (shape for shape in _likely_shapes(parameters) if _runs(scores, dtype, shape)), ()
    )
    if not shape:
        raise ModelError(
            f"{file.name} does not say what one row looks like, and no shape that its weights "
            "suggest works. Save it with torch.jit.save(model, path, _extra_files="
            f"{{'{_SHAPE}': '[3, 32, 32]'}}), or as .pt2 with torch.export.save"
        )
    return from_scores(scores, name=file.name, version=file.version, dtype=dtype, input_shape=shape)


def _open(file: ModelFile) -> ArchiveReader:
    """Open the archive, telling apart the other things that people save as ``.pt``."""
    archive = ArchiveReader(file)
    if "archive_format" in archive.names:
        raise ModelError(f"{file.name} is a torch.export file: name it .pt2")
    if "constants.pkl" not in archive.names:
        raise ModelError(
            f"{file.name} is a pickle of torch.save (weights or a whole module), "
            "not TorchScript; save the model with torch.jit.save, or as .pt2 with torch.export.save"
        )
    return archive


def _declared_shape(text: str | bytes, name: str) -> _Shape:
    if not text:
        return ()
    try:
        shape = tuple(json.loads(text))
    except (ValueError, TypeError):
        shape = (0,)
    if not all(size is None or (isinstance(size, int) and size > 0) for size in shape):
        raise ModelError(f"{name}: its extra file {_SHAPE} must be a JSON list such as [3, 32, 32]")
    return shape


def _likely_shapes(parameters: list[Any]) -> Iterator[_Shape]:
    """Yield row shapes suggested by the weights of linear and convolution layers, in order."""
    for parameter in parameters:
        if parameter.ndim == 2:
            yield (int(parameter.shape[1]),)
        elif parameter.ndim in (3, 4):
            yield (int(parameter.shape[1]), *([None] * (parameter.ndim - 2)))


def _runs(scores: Scores, dtype: np.dtype[Any], shape: _Shape) -> bool:
    try:
        run_probe(scores, name="", dtype=dtype, input_shape=shape)
    except ModelError:
        return False
    return True
