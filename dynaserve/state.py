"""Where this machine keeps what must outlive a process: the noise key, the embedded model.

One place decides it, so that every worker and every restart finds the same files. It creates
the directory and nothing in it.
"""

from __future__ import annotations

import os
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
    directory = _chosen_directory()
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"state directory {directory} cannot be created ({error.strerror}); "
            "set DYNASERVE_STATE_DIR to a directory that this user can write"
        ) from error
    return directory


def _chosen_directory() -> Path:
    if chosen := os.environ.get("DYNASERVE_STATE_DIR"):
        return Path(chosen).expanduser().absolute()
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not base.is_absolute():
        base = Path.home() / ".local" / "state"
    return base / "dynaserve"
