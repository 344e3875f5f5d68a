"""Finished models on disk, so that a killed run goes on where it stopped.

One file per model, written whole, and one that says which run they belong to. It holds scores,
never the models themselves.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.atomic import replace_file

_RUN = "run.json"


@dataclass(frozen=True, eq=False)
class Scores:
    """What one model answered.

    Attributes
    ----------
    logits
        (n, k) float32, on the population.
    held_out
        (h, k) float32, on the held-out rows.
    random
        (r, k) float32, on random inputs.
    neighbors
        Size -> (n, M, k) float16 on near-duplicates, each row shifted so that its top is 0.
        Float16 then keeps every gap to the top to 0.05%, and thus the order at the top.
    """

    logits: NDArray[np.float32]
    held_out: NDArray[np.float32]
    random: NDArray[np.float32]
    neighbors: dict[str, NDArray[np.float16]] = field(default_factory=dict)


class ShadowStore:
    """A directory of finished models of one run.

    Parameters
    ----------
    directory
        Created if it is not there.
    identity
        Part of the configuration -> its fingerprint.

    Raises
    ------
    ValueError
        If the directory holds another run, naming the parts that differ, or no run at all.
    """

    def __init__(self, directory: str | Path, identity: Mapping[str, str]) -> None:
        self._directory = Path(directory)
        self._directory.mkdir(parents=True, exist_ok=True)
        described = self._directory / _RUN
        if described.exists():
            _require_same(self._directory, json.loads(described.read_text()), identity)
        elif any(self._directory.iterdir()):
            raise ValueError(f"{self._directory} holds files of something else; name an empty one")
        else:
            replace_file(described, json.dumps(dict(identity), indent=1).encode())

    def read(self, index: int) -> Scores | None:
        """Return what model ``index`` answered, or None if it is not finished.

        Raises
        ------
        ValueError
            For a file that is damaged.
        """
        path = self._path(index)
        if not path.exists():
            return None
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                named = {name: arrays[name] for name in arrays.files}
            plain = {name: named.pop(name) for name in ("logits", "held_out", "random")}
        except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile):
            raise ValueError(f"{path} is damaged; delete it to train that model again") from None
        return Scores(**plain, neighbors=named)

    def write(self, index: int, scores: Scores) -> None:
        """Keep what model ``index`` answered; a reader sees all of it or nothing."""
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {
            "logits": scores.logits,
            "held_out": scores.held_out,
            "random": scores.random,
            **scores.neighbors,
        }
        np.savez(buffer, **arrays)
        replace_file(self._path(index), buffer.getvalue())

    def _path(self, index: int) -> Path:
        return self._directory / f"model-{index:04d}.npz"


def _require_same(directory: Path, stored: Mapping[str, str], identity: Mapping[str, str]) -> None:
    names = sorted(stored.keys() | identity.keys())
    if differing := [name for name in names if stored.get(name) != identity.get(name)]:
        raise ValueError(
            f"{directory} holds models of another run: it differs in {', '.join(differing)}; "
            "name another directory, or delete it to start over"
        )
