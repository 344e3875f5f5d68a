"""The default model: a small network on scikit-learn's digits, trained at first use.

Half of the digits are kept out, so that being a training member is a real property that a real
attack can look for. The network is trained until it fits its half, as many deployed models do.
"""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaserve.atomic import replace_file
from dynaserve.serving.models.estimator import serve_estimator
from dynaserve.serving.models.file import ModelFile
from dynaserve.serving.models.imports import require
from dynaserve.serving.models.loaded import LoadedModel
from dynaserve.serving.models.protocol import ModelError
from dynaserve.serving.models.skops_file import read_estimator, skops_io
from dynaserve.state import naming_the_variable, state_directory

_NAME = "digits (embedded default)"
_RECIPE = 1
"""Counts changes to how the model is trained; an older cache is then left alone."""


class Digits(NamedTuple):
    """Images (n, 64), float64 of 0 to 16, and labels (n,), int64, split in two halves."""

    member_images: NDArray[np.float64]
    member_labels: NDArray[np.int64]
    held_out_images: NDArray[np.float64]
    held_out_labels: NDArray[np.int64]


def digits() -> Digits:
    """Return scikit-learn's digits as the embedded model sees them: trained on, and kept out."""
    datasets = require("sklearn.datasets", extra="serve")
    selection = require("sklearn.model_selection", extra="serve")
    images, labels = datasets.load_digits(return_X_y=True)
    member_images, held_out_images, member_labels, held_out_labels = selection.train_test_split(
        images, labels, test_size=0.5, random_state=0, stratify=labels
    )
    return Digits(member_images, member_labels, held_out_images, held_out_labels)


def load() -> LoadedModel:
    """Return the embedded model, from the state directory or freshly trained.

    Training is repeatable and the file appears whole, so processes that start together end up
    with the same model whoever writes last. A file that cannot be read is replaced.
    """
    path = _path()
    try:
        return _serve(read_estimator(ModelFile.read(path), trust_pickle=False))
    except ModelError:
        estimator = _train()
    content = skops_io().dumps(estimator)
    with naming_the_variable(f"{_NAME}: {path} cannot be written"):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        replace_file(path, content, mode=0o600)
    return _serve(estimator)


def held_out() -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return logits (899, 10) and labels (899,) of the digits that the model was not trained on."""
    data = digits()
    return load().logits(data.held_out_images), data.held_out_labels


def _path() -> Path:
    sklearn = require("sklearn", extra="serve")
    return state_directory() / "embedded" / f"digits-{_RECIPE}-sklearn-{sklearn.__version__}.skops"


def _train() -> Any:
    neural_network = require("sklearn.neural_network", extra="serve")
    threads = require("threadpoolctl", extra="serve")
    data = digits()
    estimator = neural_network.MLPClassifier((64,), max_iter=200, tol=0.0, random_state=0)
    # One thread: small matrices only wait for more, and sums keep one order on every machine.
    with warnings.catch_warnings(), threads.threadpool_limits(1):
        warnings.simplefilter("ignore")  # it stops at a fixed number of rounds, on purpose
        return estimator.fit(data.member_images, data.member_labels)


def _serve(estimator: Any) -> LoadedModel:
    """Wrap the network under the digest of its weights.

    Not of the file: skops writes the time into it, and a new version would give every query
    new noise after a retraining that changed nothing.
    """
    try:
        arrays = [*estimator.coefs_, *estimator.intercepts_]
    except AttributeError:
        raise ModelError(f"{_NAME}: the cached file holds something else") from None
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays))
    return serve_estimator(estimator, name=_NAME, version=digest.hexdigest())
