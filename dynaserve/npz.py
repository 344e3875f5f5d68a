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
            held = archive.files
            if twice := [name for name in dict.fromkeys(held) if held.count(name) > 1]:
                raise _UnfitError(f"{path} holds {twice[0]!r} twice; write each array once")
            found = held if names is None else [name for name in names if name in held]
            return {name: _read(archive, name) for name in found}
    except _UnfitError:
        raise
    except MemoryError:
        raise ValueError(f"{path} claims arrays that do not fit into the memory") from None
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


class _UnfitError(ValueError):
    """Says in its own words why a file is refused."""


def _read(archive: np.lib.npyio.NpzFile, name: str) -> NDArray[Any]:
    array = archive[name]
    if not isinstance(array, np.ndarray):  # bytes, of a member that is no .npy
        raise ValueError("no array")
    return array


def write_arrays(
    path: str | Path, arrays: Mapping[str, NDArray[Any]], *, compressed: bool = False
) -> None:
    """Write arrays by their names."""
    buffer = io.BytesIO()
    named: dict[str, Any] = dict(arrays)
    (np.savez_compressed if compressed else np.savez)(buffer, **named)
    replace_file(Path(path), buffer.getvalue())
