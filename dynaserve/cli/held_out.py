"""Held-out rows, as ``calibrate``, ``audit`` and ``tune`` read them, and a template's effect."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses.rows import logits_of
from dynaserve.mia.pitfalls import require_no_probabilities
from dynaserve.npz import read_arrays
from dynaserve.serving.models import Model, load_model

if TYPE_CHECKING:
    from dynaserve.defenses import RankTemplate

_FOLDS = 5
_FEWEST_ROWS = 375
"""Four fifths of it is the least that a template can be calibrated on."""


class HeldOutRows(NamedTuple):
    """What a template is calibrated on."""

    logits: NDArray[Any]
    """(n, K), float."""
    labels: NDArray[np.int64]
    """(n,), column numbers."""
    model_version: str
    """That of the model that computed the logits; empty if the file held them."""


def read_held_out(path: Path, source: str | None, *, trust_pickle: bool = False) -> HeldOutRows:
    """Return the rows of an ``.npz`` file, scored by the model ``source`` if there is one.

    Raises
    ------
    ValueError
        Naming the array that is missing or wrong, and what would be right.
    """
    arrays = read_arrays(path)
    labels = _take(arrays, "labels", path)
    version = ""
    if source is not None:
        model = load_model(source, trust_pickle=trust_pickle)
        version = model.version
        logits = _logits_of(model, _take(arrays, "inputs", path), path)
        labels = _columns_of(labels, model, path)
    elif "logits" in arrays:
        logits = arrays["logits"]
        require_no_probabilities(
            logits, f"{path}: logits", "call the array 'probabilities', or store logits"
        )
    elif "probabilities" in arrays:
        logits = logits_of(arrays["probabilities"], f"{path}: probabilities")
    else:
        raise ValueError(
            f"{path}: no array 'logits' or 'probabilities' (found: {', '.join(arrays) or 'none'}); "
            "with 'inputs' instead, name the model: --model SOURCE"
        )
    if logits.ndim != 2 or labels.shape != logits.shape[:1]:
        raise ValueError(
            f"{path}: scores have shape {logits.shape} and labels {labels.shape}; "
            "they must be (n, K) and (n,)"
        )
    if labels.dtype.kind not in "iu":
        raise ValueError(f"{path}: labels are {labels.dtype}; they must be column numbers, integer")
    return HeldOutRows(logits, labels.astype(np.int64), version)


def held_out_release(
    template: RankTemplate, logits: NDArray[Any], labels: NDArray[np.int64]
) -> NDArray[np.float32] | None:
    """Return what templates of the same kind release for rows they were not calibrated on.

    Five folds; None where there are too few rows for that.
    """
    if len(labels) < _FEWEST_ROWS:
        return None
    options = (len(template.template.rank_weights), len(template.template.confidence))
    released = np.empty(logits.shape, np.float32)
    order = np.random.default_rng(0).permutation(len(labels))
    for fold in np.array_split(order, _FOLDS):
        rest = np.setdiff1d(order, fold)
        released[fold] = type(template).calibrate(logits[rest], labels[rest], *options)(
            logits[fold]
        )
    return released


def _take(arrays: dict[str, NDArray[Any]], name: str, path: Path) -> NDArray[Any]:
    if name not in arrays:
        raise ValueError(f"{path}: no array {name!r} (found: {', '.join(arrays) or 'none'})")
    return arrays[name]


def _logits_of(model: Model, inputs: NDArray[Any], path: Path) -> NDArray[Any]:
    shape = inputs.shape[1:]
    if len(shape) != len(model.input_shape) or any(
        wanted not in (None, size) for wanted, size in zip(model.input_shape, shape, strict=True)
    ):
        raise ValueError(
            f"{path}: rows of inputs have shape {shape}; {model.name} takes {model.input_shape}"
        )
    if inputs.dtype.kind not in "fiub":
        raise ValueError(f"{path}: inputs are {inputs.dtype}; they must be numbers")
    return model.logits(inputs)


def _columns_of(labels: NDArray[Any], model: Model, path: Path) -> NDArray[np.int64]:
    """Return the column of each label, which is spelled as the model's classes are."""
    columns = {label: column for column, label in enumerate(model.classes)}
    try:
        return np.array([columns[label] for label in labels.tolist()], dtype=np.int64)
    except (KeyError, TypeError):
        known = ", ".join(map(str, model.classes[:10]))
        raise ValueError(f"{path}: some labels are not classes of {model.name} ({known})") from None
