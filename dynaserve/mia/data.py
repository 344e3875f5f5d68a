"""What an audit is fed: arrays of answers, checked once, and their file.

It checks and stores; it neither defends nor attacks, and never changes an array that it was
given. Files are plain ``.npz`` archives that are never unpickled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses.rows import require_logits, unwrap
from dynaserve.mia.pitfalls import require_no_probabilities
from dynaserve.npz import read_arrays, write_arrays

FEWEST_SHADOWS = 2
"""How many shadows must not have trained on a row: each shadow is scored by the others.

As many must have, or every attack that compares both is left out."""

_NEIGHBORS = "neighbor_logits"
_SHADOW_NEIGHBORS = "shadow_neighbor_logits"
_QUERIES = "neighbor_queries"
_OF_OTHER_ROWS = ("held_out_logits", "held_out_labels", "shadow_held_out_logits", "random_logits")
"""What a training run saves beside, for defenses to be fitted on; no audit reads it."""


@dataclass(frozen=True)
class Neighbors:
    """Answers to near-duplicates of each row, made at one size of jitter.

    Parameters
    ----------
    logits
        (n, M, k) float: the target's.
    shadow_logits
        (S, n, M, k) float: the shadows', for the same near-duplicates; None if not asked.
    queries
        (n, M, ...) the near-duplicates themselves, for keyed defenses; None stands for M
        different ones.
    """

    logits: NDArray[Any]
    shadow_logits: NDArray[Any] | None = None
    queries: NDArray[Any] | None = None


@dataclass(frozen=True)
class AuditData:
    """Checked arrays of one audit; `checked` makes one.

    Parameters
    ----------
    logits
        (n, k) float, the target's.
    labels
        (n,) int64 in 0..k-1.
    member
        (n,) bool: whether the target was trained on the row.
    shadow_logits, shadow_member
        (S, n, k) float and (S, n) bool; None without shadow models.
    queries
        (n, ...) the model's inputs, for keyed defenses; None stands for n different ones.
    neighbors
        Size of jitter -> answers; the name may be empty.
    """

    logits: NDArray[Any]
    labels: NDArray[np.int64]
    member: NDArray[np.bool_]
    shadow_logits: NDArray[Any] | None
    shadow_member: NDArray[np.bool_] | None
    queries: NDArray[Any] | None
    neighbors: dict[str, Neighbors]

    @property
    def shadows(self) -> int:
        """S."""
        return 0 if self.shadow_member is None else len(self.shadow_member)

    @property
    def models(self) -> list[NDArray[Any]]:
        """The logits (n, k) of the target, then of each shadow."""
        return [self.logits, *(() if self.shadow_logits is None else self.shadow_logits)]

    def trained_on(self, shadow: int) -> NDArray[np.bool_]:
        """Return whether a shadow was trained on each row, (n,)."""
        if self.shadow_member is None:
            raise IndexError(f"shadow {shadow} of 0")
        return np.asarray(self.shadow_member[shadow])

    @classmethod
    def checked(
        cls,
        logits: Any,
        labels: Any,
        member: Any,
        *,
        shadow_logits: Any = None,
        shadow_member: Any = None,
        queries: Any = None,
        neighbor_logits: Any = None,
        shadow_neighbor_logits: Any = None,
        neighbor_queries: Any = None,
    ) -> AuditData:
        """Return the arrays, numpy or torch, in their one form.

        ``member`` and ``shadow_member`` may hold 0 and 1. The three ``neighbor`` arguments are
        arrays, or mappings from a name for the size of the jitter to arrays.

        Raises
        ------
        ValueError
            Naming the argument, the place and what would be right: shapes that do not fit, NaN,
            probabilities for logits, labels out of range, only members or only non-members, or a
            row that fewer than two shadows were trained without.
        """
        target = _logits(logits, "logits", ("n", "k"))
        rows, classes = target.shape
        return cls(
            logits=target,
            labels=_labels(labels, rows, classes),
            member=_member(member, rows),
            **_shadows(shadow_logits, shadow_member, target.shape),
            queries=_leading(queries, "queries", (rows,)),
            neighbors=_neighbors(
                _by_size(neighbor_logits),
                _by_size(shadow_neighbor_logits),
                _by_size(neighbor_queries),
                target.shape,
                0 if shadow_member is None else len(shadow_member),
            ),
        )


def load(path: str | Path) -> AuditData:
    """Return the arrays of an ``.npz`` file as `save` writes it.

    Names: ``logits``, ``labels``, ``member``; if there are any ``shadow_logits``,
    ``shadow_member``, ``queries``, ``neighbor_logits``, ``shadow_neighbor_logits``,
    ``neighbor_queries``, the last three also as ``neighbor_logits_SIZE`` and so on. What a
    `ShadowRun` saves beside these, about other rows, is passed over.

    Raises
    ------
    ValueError
        Naming the file and what is wrong in it, unknown arrays included.
    """
    arrays = read_arrays(path)
    arguments: dict[str, Any] = {}
    for name, array in arrays.items():
        if name in _OF_OTHER_ROWS:
            continue
        key, size = _split(name, path)
        if key in (_NEIGHBORS, _SHADOW_NEIGHBORS, _QUERIES):
            arguments.setdefault(key, {})[size] = array
        else:
            arguments[key] = array
    if missing := [name for name in ("logits", "labels", "member") if name not in arguments]:
        raise ValueError(
            f"{path}: no array {missing[0]!r} (found: {', '.join(arrays) or 'none'}); an audit "
            "needs logits (n, k), labels (n,) and member (n,)"
        )
    try:
        return AuditData.checked(**arguments)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def save(path: str | Path, data: AuditData) -> None:
    """Write the arrays to an ``.npz`` file, whole or not at all; see `load` for the names."""
    arrays: dict[str, NDArray[Any] | None] = {
        "logits": data.logits,
        "labels": data.labels,
        "member": data.member,
        "shadow_logits": data.shadow_logits,
        "shadow_member": data.shadow_member,
        "queries": data.queries,
    }
    for size, neighbors in data.neighbors.items():
        suffix = f"_{size}" if size else ""
        arrays[_NEIGHBORS + suffix] = neighbors.logits
        arrays[_SHADOW_NEIGHBORS + suffix] = neighbors.shadow_logits
        arrays[_QUERIES + suffix] = neighbors.queries
    write_arrays(path, {name: a for name, a in arrays.items() if a is not None}, compressed=True)


def _split(name: str, path: str | Path) -> tuple[str, str]:
    """Return an array's argument and, for near-duplicates, its size of jitter."""
    for key in (_NEIGHBORS, _SHADOW_NEIGHBORS, _QUERIES):
        if name == key or (name.startswith(f"{key}_") and name != f"{key}_"):
            return key, name[len(key) + 1 :]
    known = ("logits", "labels", "member", "shadow_logits", "shadow_member", "queries")
    if name not in known:
        raise ValueError(
            f"{path}: unknown array {name!r}; known: {', '.join(known)}, {_NEIGHBORS}, "
            f"{_SHADOW_NEIGHBORS}, {_QUERIES}"
        )
    return name, ""


def _logits(array: Any, name: str, axes: tuple[str, ...]) -> NDArray[Any]:
    values = unwrap(array, name).values
    if values.ndim != len(axes):
        raise ValueError(f"{name}: needs shape ({', '.join(axes)}), got {values.shape}")
    try:
        require_logits(values)
    except ValueError as error:
        raise ValueError(f"{name}: {str(error).removeprefix('logits: ')}") from None
    require_no_probabilities(values, name)
    return values


def _labels(array: Any, rows: int, classes: int) -> NDArray[np.int64]:
    values = _plain(array)
    if values.shape != (rows,):
        raise ValueError(f"labels: needs shape ({rows},), one for each row, got {values.shape}")
    if values.dtype.kind not in "iu":
        raise ValueError(f"labels: needs integers, got dtype {values.dtype}")
    outside = (values < 0) | (values >= classes)
    if outside.any():
        raise ValueError(f"labels: row {int(outside.argmax())} is not in 0..{classes - 1}")
    return values.astype(np.int64)


def _member(array: Any, rows: int) -> NDArray[np.bool_]:
    values = _flags(array, "member", (rows,))
    if values.all() or not values.any():
        which = "members" if values.any() else "non-members"
        raise ValueError(
            f"member: all {rows} rows are {which}; an audit compares members with non-members"
        )
    return values


def _flags(array: Any, name: str, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    values = _plain(array)
    if values.shape != shape:
        raise ValueError(f"{name}: needs shape {shape}, got {values.shape}")
    if values.dtype.kind not in "biu" or ((values != 0) & (values != 1)).any():
        raise ValueError(f"{name}: needs booleans, or integers 0 and 1, got dtype {values.dtype}")
    return values.astype(bool)


def _shadows(logits: Any, member: Any, target: tuple[int, ...]) -> dict[str, Any]:
    if logits is None and member is None:
        return {"shadow_logits": None, "shadow_member": None}
    if logits is None or member is None:
        given, missing = "shadow_logits", "shadow_member"
        if logits is None:
            given, missing = missing, given
        raise ValueError(f"{given}: given without {missing}")
    values = _logits(logits, "shadow_logits", ("S", "n", "k"))
    if values.shape[1:] != target:
        raise ValueError(
            f"shadow_logits: needs shape (S, {target[0]}, {target[1]}), got {values.shape}"
        )
    flags = _flags(member, "shadow_member", values.shape[:2])
    inside = flags.sum(axis=0)
    scarce = len(flags) - inside < FEWEST_SHADOWS
    if scarce.any():
        row = int(scarce.argmax())
        raise ValueError(
            f"shadow_member: {int(inside[row])} of {len(flags)} shadows were trained on row {row} "
            f"({int(scarce.sum())} rows like it); at least {FEWEST_SHADOWS} must not be: put every "
            "row in half of the shadows, or in none"
        )
    return {"shadow_logits": values, "shadow_member": flags}


def _leading(array: Any, name: str, shape: tuple[int, ...]) -> NDArray[Any] | None:
    if array is None:
        return None
    values = _plain(array)
    if values.shape[: len(shape)] != shape:
        raise ValueError(f"{name}: shape {values.shape} must start with {shape}")
    return values


def _neighbors(
    target: Mapping[str, Any],
    shadow: Mapping[str, Any],
    queries: Mapping[str, Any],
    shape: tuple[int, ...],
    shadows: int,
) -> dict[str, Neighbors]:
    found = {}
    for size, array in target.items():
        name = f"{_NEIGHBORS}_{size}" if size else _NEIGHBORS
        logits = _logits(array, name, ("n", "M", "k"))
        if (logits.shape[0], logits.shape[2]) != shape or logits.shape[1] == 0:
            raise ValueError(f"{name}: needs shape ({shape[0]}, M, {shape[1]}), got {logits.shape}")
        found[size] = Neighbors(
            logits,
            _shadow_neighbors(shadow.get(size), name, (shadows, *logits.shape)),
            _leading(queries.get(size), name.replace(_NEIGHBORS, _QUERIES), logits.shape[:2]),
        )
    for key, given in ((_SHADOW_NEIGHBORS, shadow), (_QUERIES, queries)):
        if extra := [size for size in given if size not in found]:
            raise ValueError(f"{key}: size {extra[0]!r} is not among those of {_NEIGHBORS}")
    return found


def _shadow_neighbors(array: Any, name: str, shape: tuple[int, ...]) -> NDArray[Any] | None:
    if array is None:
        return None
    values = _logits(array, f"shadow_{name}", ("S", "n", "M", "k"))
    if values.shape != shape:
        raise ValueError(f"shadow_{name}: needs shape {shape}, got {values.shape}")
    return values


def _by_size(given: Any) -> Mapping[str, Any]:
    if given is None:
        return {}
    return given if isinstance(given, Mapping) else {"": given}


def _plain(array: Any) -> NDArray[Any]:
    return np.asarray(array.numpy(force=True) if hasattr(array, "detach") else array)
