"""Reads and writes ``.npz`` files of plain arrays: never unpickled, whole or not at all.

It knows no array by name; what has to be in a file, its reader says.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.atomic import replace_file


def read_arrays(path: str | Path, names: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file; with ``names``, those of them that it has, and no other is read.

    Raises
    ------
    ValueError
        Naming the file, if it does not exist, cannot be read, or is something else.
    """
    try:
        with Path(path).open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("one array only")
            found = archive.files if names is None else [n for n in names if n in archive.files]
            return {name: archive[name] for name in found}
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror or error})") from None
    except (ValueError, EOFError, zipfile.BadZipFile):
        # Not in numpy's words: it advises to unpickle.
        raise ValueError(
            f"{path} is not an .npz file of plain arrays; write one with numpy.savez, of numbers "
            "only"
        ) from None


def write_arrays(
    path: str | Path, arrays: Mapping[str, NDArray[Any]], *, compressed: bool = False
) -> None:
    """Write arrays by their names."""
    buffer = io.BytesIO()
    named: dict[str, Any] = dict(arrays)
    (np.savez_compressed if compressed else np.savez)(buffer, **named)
    replace_file(Path(path), buffer.getvalue())
