"""What a training run leaves: every model's answers, in one file of plain arrays.

The arrays carry the names that `dynaserve.mia.audit` takes. No model and no pickle is in it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.mia.data import AuditData
from dynaserve.npz import read_arrays, write_arrays

_NEIGHBORS, _SHADOW_NEIGHBORS = "neighbor_logits_", "shadow_neighbor_logits_"


@dataclass(frozen=True, eq=False)
class ShadowRun:
    """Answers of a target and its S shadows on n candidate rows, k classes.

    Attributes
    ----------
    logits, labels, member
        (n, k) float32, (n,) int64, (n,) bool: the target.
    shadow_logits, shadow_member
        (S, n, k) float32, (S, n) bool.
    held_out_logits, held_out_labels
        (h, k) float32, (h,) int64: the target on rows no model was trained on, to calibrate with.
    shadow_held_out_logits
        (S, h, k) float32.
    random_logits
        (r, k) float32: the target on random inputs, for HAMP.
    queries
        (n, ...), the candidate rows themselves, for keyed noise.
    neighbor_logits
        Jitter size -> (n, M, k) float16, each row shifted so that its top is 0.
    shadow_neighbor_logits
        Jitter size -> (S, n, M, k) float16.
    """

    logits: NDArray[np.float32]
    labels: NDArray[np.int64]
    member: NDArray[np.bool_]
    shadow_logits: NDArray[np.float32]
    shadow_member: NDArray[np.bool_]
    held_out_logits: NDArray[np.float32]
    held_out_labels: NDArray[np.int64]
    shadow_held_out_logits: NDArray[np.float32]
    random_logits: NDArray[np.float32]
    queries: NDArray[Any]
    neighbor_logits: dict[str, NDArray[np.float16]] = field(default_factory=dict)
    shadow_neighbor_logits: dict[str, NDArray[np.float16]] = field(default_factory=dict)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by the names they have in the file."""
        named = {name: value for name, value in vars(self).items() if not isinstance(value, dict)}
        named |= {_NEIGHBORS + size: value for size, value in self.neighbor_logits.items()}
        shadows = self.shadow_neighbor_logits.items()
        return named | {_SHADOW_NEIGHBORS + size: value for size, value in shadows}

    def save(self, path: str | Path) -> None:
        """Write one ``.npz``, whole or not at all."""
        write_arrays(path, self.arrays())

    def audit_data(self, sizes: Collection[str] | None = None) -> AuditData:
        """Return what is audited, with near-duplicates of these sizes; None is all there are."""
        sizes = self.neighbor_logits if sizes is None else sizes
        return AuditData.checked(
            self.logits,
            self.labels,
            self.member,
            shadow_logits=self.shadow_logits,
            shadow_member=self.shadow_member,
            queries=self.queries,
            neighbor_logits={size: self.neighbor_logits[size] for size in sizes},
            shadow_neighbor_logits={size: self.shadow_neighbor_logits[size] for size in sizes},
        )

    @classmethod
    def load(cls, path: str | Path) -> ShadowRun:
        """Read what `save` wrote.

        Raises
        ------
        ValueError
            If it is not such a file, naming what it lacks.
        """
        arrays = read_arrays(path)
        neighbors = _take_prefixed(arrays, _NEIGHBORS)
        shadow_neighbors = _take_prefixed(arrays, _SHADOW_NEIGHBORS)
        wanted = [name for name in cls.__dataclass_fields__ if "neighbor" not in name]
        if missing := [name for name in wanted if name not in arrays]:
            raise ValueError(f"{path}: lacks the array(s) {', '.join(missing)}")
        return cls(
            **{name: arrays[name] for name in wanted},
            neighbor_logits=neighbors,
            shadow_neighbor_logits=shadow_neighbors,
        )


def _take_prefixed(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}
