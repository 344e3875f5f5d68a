"""Read ``.onnx`` files with ONNX Runtime, on the processor.

ONNX holds a graph of known operators and no code; custom operators are not registered. Weights
kept in other files are refused: the version would not cover them.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.serving.models.file import ModelFile
from dynaserve.serving.models.imports import require
from dynaserve.serving.models.loaded import LoadedModel, Scores, from_scores
from dynaserve.serving.models.protocol import ModelError
from dynaserve.serving.models.scores import probe_rows

_DTYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    "tensor(int64)": "int64",
    "tensor(int32)": "int32",
    "tensor(uint8)": "uint8",
}
_FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)")


def load(file: ModelFile, *, trust_pickle: bool) -> LoadedModel:  # noqa: ARG001 - nothing to trust
    """Load an ONNX classifier with one input of a free batch size.

    Raises
    ------
    ModelError
        If it cannot be read, or its inputs and outputs are not those of a classifier.
    """
    session = _session(file)
    dtype, input_shape = _describe_input(session, file.name)
    output = _choose_output(session, file.name)
    feed = session.get_inputs()[0].name
    classes: list[str | int] | None = None
    if output.type.startswith("seq(map("):
        first = _run(session, file.name, output.name, feed, probe_rows(input_shape, dtype, 1))
        classes = list(first[0])
        scores = _map_scores(session, output.name, feed, classes)
    else:
        scores = _tensor_scores(session, output.name, feed)
    return from_scores(
        scores,
        name=file.name,
        version=file.version,
        dtype=dtype,
        input_shape=input_shape,
        output=output.name,
        classes=classes,
    )


def _session(file: ModelFile) -> Any:
    runtime = require("onnxruntime", extra="serve")
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # failures come as exceptions; the rest is noise
    # ONNX Runtime does not read what the other libraries do, and its idle threads would spin.
    threads = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    options.intra_op_num_threads = int(threads) if threads.isdecimal() else 0
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # left alone, it would look for external weights in the working directory
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", "/nonexistent/external-data"
    )
    try:
        return runtime.InferenceSession(file.content, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if "external data" in str(error).lower().replace("-", " "):
            raise ModelError(
                f"{file.name} keeps its weights in another file; save it as one file "
                "(onnx.save_model with save_as_external_data=False)"
            ) from None
        raise file.unreadable("an ONNX file", error) from error


def _describe_input(session: Any, name: str) -> tuple[np.dtype[Any], tuple[int | None, ...]]:
    inputs = session.get_inputs()
    if len(inputs) != 1:
        found = ", ".join(repr(node.name) for node in inputs) or "none"
        raise ModelError(f"{name} has {len(inputs)} inputs ({found}); a classifier has one")
    node = inputs[0]
    if node.type not in _DTYPES:
        raise ModelError(
            f"{name}: input {node.name!r} is {node.type}; one of {', '.join(_DTYPES)} can be served"
        )
    if len(node.shape) < 2:
        raise ModelError(
            f"{name}: input {node.name!r} has shape {node.shape}, without a batch and a row part"
        )
    batch, *row = node.shape
    if isinstance(batch, int):
        raise ModelError(
            f"{name}: input {node.name!r} has a fixed batch size of {batch}; "
            "export it with a dynamic first dimension"
        )
    shape = tuple(size if isinstance(size, int) else None for size in row)
    return np.dtype(_DTYPES[node.type]), shape


def _choose_output(session: Any, name: str) -> Any:
    """Return the one output that holds scores.

    Maps from label to probability (the ZipMap of scikit-learn converters) come first, then
    float tensors; among several, the one named like probabilities, then the one like logits.
    """
    outputs = session.get_outputs()
    maps = [node for node in outputs if node.type.startswith("seq(map(")]
    candidates = maps or [node for node in outputs if node.type in _FLOATS]
    for word in ("prob", "logit"):
        if len(candidates) > 1:
            candidates = [node for node in candidates if word in node.name.lower()] or candidates
    if len(candidates) != 1:
        found = ", ".join(f"{node.name!r} ({node.type})" for node in outputs)
        problem = (
            "no output holds scores" if not candidates else "several outputs may be the scores"
        )
        raise ModelError(
            f"{name}: {problem}: {found}. Keep one float output, or name it 'probabilities' "
            "or 'logits'"
        )
    return candidates[0]


def _run(session: Any, name: str, output: str, feed: str, rows: NDArray[Any]) -> Any:
    try:
        return session.run([output], {feed: rows})[0]
    except Exception as error:
        reason = (str(error).strip().splitlines() or [""])[0][:300]
        raise ModelError(f"{name} fails on made-up rows of shape {rows.shape}: {reason}") from error


def _tensor_scores(session: Any, output: str, feed: str) -> Scores:
    def scores(inputs: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(session.run([output], {feed: inputs})[0])

    return scores


def _map_scores(session: Any, output: str, feed: str, classes: list[str | int]) -> Scores:
    def scores(inputs: NDArray[Any]) -> NDArray[Any]:
        rows = session.run([output], {feed: inputs})[0]
        return np.array([[row[label] for label in classes] for row in rows], dtype=np.float32)

    return scores
