"""Read ``.skops`` files: scikit-learn models without pickle.

Only types that skops or the list below vouches for are built; the rest needs ``trust_pickle``.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from dynaserve.serving.models.estimator import serve_estimator
from dynaserve.serving.models.file import ModelFile
from dynaserve.serving.models.imports import require
from dynaserve.serving.models.loaded import LoadedModel
from dynaserve.serving.models.protocol import ModelError

_PLAIN_STATE = frozenset(
    f"sklearn.neural_network._stochastic_optimizers.{name}"
    for name in ("AdamOptimizer", "SGDOptimizer")
)
"""Left over from training in every ``MLPClassifier``: arrays and numbers, unused to predict."""


_UNUSED = tuple(f"sklearn.externals.array_api_compat.{name}" for name in ("cupy", "dask", "torch"))
"""Packages that import all of what they are named after."""


def skops_io() -> ModuleType:
    """Return ``skops.io``.

    It lists scikit-learn's estimators by importing every package of scikit-learn. What those in
    ``_UNUSED`` bring in holds no estimator, and takes seconds and more memory than all the rest.

    Raises
    ------
    ModelError
        skops is not installed.
    """
    blocked = [name for name in _UNUSED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(blocked))  # type: ignore[arg-type] # None: no such module
    try:
        return require("skops.io", extra="serve")
    finally:
        for name in blocked:
            sys.modules.pop(name, None)


def load(file: ModelFile, *, trust_pickle: bool) -> LoadedModel:
    """Load a skops file.

    Raises
    ------
    ModelError
        If it is not a skops file, holds a type that nobody vouches for, or no classifier.
    """
    estimator = read_estimator(file, trust_pickle=trust_pickle)
    return serve_estimator(estimator, name=file.name, version=file.version)


def read_estimator(file: ModelFile, *, trust_pickle: bool) -> Any:
    """Return the object in a skops file; raises as ``load`` does."""
    io = skops_io()
    try:
        untrusted = set(io.get_untrusted_types(data=file.content))
    except Exception as error:
        raise file.unreadable("a skops file", error) from error
    unknown = sorted(untrusted - _PLAIN_STATE)
    if unknown and not trust_pickle:
        raise ModelError(
            f"{file.name} holds types that skops does not vouch for: {', '.join(unknown)}. Their "
            "content can crash this process or run code. If you made the file or trust who did, "
            "pass --trust-pickle (trust_pickle=True)"
        )
    try:
        return io.loads(file.content, trusted=sorted(untrusted))
    except Exception as error:
        raise file.unreadable("a skops file", error) from error
