"""Read ``.pt2`` files: programs saved by ``torch.export.save``.

Nothing is loaded before ``torch_archive`` has passed the file, unless the user vouches for it.
"""

from __future__ import annotations

import io
import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.serving.models.file import ModelFile
from dynaserve.serving.models.imports import require
from dynaserve.serving.models.loaded import LoadedModel, Scores, from_scores
from dynaserve.serving.models.protocol import ModelError
from dynaserve.serving.models.torch_archive import ArchiveReader, check_export

_DTYPES = ("float32", "float64", "float16", "int64", "int32", "uint8")


def load(file: ModelFile, *, trust_pickle: bool) -> LoadedModel:
    """Load an exported classifier of one tensor with a dynamic batch dimension.

    Raises
    ------
    ModelError
        If the file is unsafe without ``trust_pickle``, unreadable, or no such classifier.
    """
    if not trust_pickle:
        check_export(file, ArchiveReader(file))
    export = require("torch.export", extra="torch")
    logger = logging.getLogger("torch.export")
    was_disabled, logger.disabled = logger.disabled, True  # it logs tracebacks of what it raises
    try:
        program = export.load(io.BytesIO(file.content))
        module = program.module()
    except Exception as error:
        raise file.unreadable("a torch.export file", error) from error
    finally:
        logger.disabled = was_disabled
    dtype, input_shape = _describe_input(program, file.name)
    return from_scores(
        module_scores(module),
        name=file.name,
        version=file.version,
        dtype=dtype,
        input_shape=input_shape,
    )


def module_scores(module: Any) -> Scores:
    """Return a function of numpy rows that calls a torch module without gradients."""
    torch = require("torch", extra="torch")

    def scores(inputs: NDArray[Any]) -> NDArray[Any]:
        rows = inputs if inputs.flags.writeable else inputs.copy()
        with torch.inference_mode():
            output = module(torch.from_numpy(rows))
        if not isinstance(output, torch.Tensor):
            raise TypeError(f"the model returns {type(output).__name__}, not one tensor")
        output = output.detach().cpu()
        return np.asarray((output.float() if output.dtype == torch.bfloat16 else output).numpy())

    return scores


def _describe_input(program: Any, name: str) -> tuple[np.dtype[Any], tuple[int | None, ...]]:
    """Return dtype and row shape of the program's one input."""
    wanted = program.graph_signature.user_inputs
    inputs = [node.meta["val"] for node in program.graph.nodes if node.name in wanted]
    if len(inputs) != 1 or not hasattr(inputs[0], "shape"):
        raise ModelError(f"{name} takes {len(wanted)} inputs; a classifier takes one tensor")
    tensor = inputs[0]
    if len(tensor.shape) < 2:
        raise ModelError(f"{name}: its input has no batch dimension before the row")
    batch, *row = tensor.shape
    if isinstance(batch, int):
        raise ModelError(
            f"{name} was exported for a fixed batch size of {batch}; export it with "
            "dynamic_shapes=({0: torch.export.Dim('batch')},)"
        )
    return numpy_dtype(tensor.dtype, name), tuple(d if isinstance(d, int) else None for d in row)


def numpy_dtype(torch_dtype: Any, name: str) -> np.dtype[Any]:
    """Return the numpy dtype of the same name.

    Raises
    ------
    ModelError
        If rows of it cannot be served, as for bfloat16, which numpy lacks.
    """
    word = str(torch_dtype).removeprefix("torch.")
    if word not in _DTYPES:
        raise ModelError(f"{name} takes {word} inputs; use one of {', '.join(_DTYPES)}")
    return np.dtype(word)
