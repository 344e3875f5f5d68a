"""Where this machine keeps what must outlive a process: the noise key, the embedded model.

One place decides it, so that every worker and every restart finds the same files. It creates
directories and nothing in them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def state_directory() -> Path:
    """Return the state directory, created with mode 0700 if it was not there.

    ``DYNASERVE_STATE_DIR`` if set, else ``$XDG_STATE_HOME/dynaserve``, else
    ``~/.local/state/dynaserve``. A relative ``XDG_STATE_HOME`` is ignored, as the XDG Base
    Directory Specification demands.

    Raises
    ------
    OSError
        If the directory cannot be made, naming the variable that chooses another one.
    """
    directory = state_path()
    with naming_the_variable(f"state directory {directory} cannot be created"):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


@contextmanager
def naming_the_variable(failure: str) -> Iterator[None]:
    """Say beside ``failure`` how to choose another state directory, whatever ``OSError`` it is."""
    try:
        yield
    except OSError as error:
        raise OSError(
            f"{failure} ({error.strerror}); "
            "set DYNASERVE_STATE_DIR to a directory that this user can write"
        ) from error


def state_path() -> Path:
    """Return where the state directory is or would be; it is not created."""
    if chosen := os.environ.get("DYNASERVE_STATE_DIR"):
        return Path(chosen).expanduser().absolute()
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not base.is_absolute():
        base = Path.home() / ".local" / "state"
    return base / "dynaserve"
