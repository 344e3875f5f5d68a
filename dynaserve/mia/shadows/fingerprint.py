"""A digest of what a training run was told, so that a resumed run can tell whether it is the same.

It describes values by their content, never by where they lie in memory.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def fingerprint(value: Any) -> str:
    """Return 16 hex digits that differ when ``value`` would train another model.

    Reads numbers, text, sequences, mappings, arrays, data classes (but for fields that do not
    count when two are compared), scikit-learn estimators, and functions and classes of a module by
    their name (not by their code).

    Raises
    ------
    ValueError
        For a value it cannot read, such as a lambda: it could not be told from another.
    """
    text = json.dumps(_plain(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray | np.generic):
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return [value.dtype.str, list(value.shape), content]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    parts = None if isinstance(value, type) else _parts(value)
    return _name(value) if parts is None else [_name(type(value)), _plain(parts)]


def _parts(value: Any) -> dict[str, Any] | None:
    """Return what an object is made of, or None for one that only has a name."""
    if isinstance(value, functools.partial):
        return {"function": value.func, "args": value.args, "keywords": value.keywords}
    if is_dataclass(value):
        return {part.name: getattr(value, part.name) for part in fields(value) if part.compare}
    if hasattr(value, "get_params"):
        return dict(value.get_params(deep=False))
    return None


def _name(value: Any) -> str:
    name = getattr(value, "__qualname__", "")
    if not name or "<" in name:
        raise ValueError(
            f"a training run cannot be resumed with a {type(value).__name__} in it that has no "
            "name of its own; use a function or class of a module, or a data class"
        )
    return f"{value.__module__}.{name}"
