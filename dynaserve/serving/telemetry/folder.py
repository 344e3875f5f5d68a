"""Where the workers of one server count: files in a folder that no other server writes in.

prometheus_client keeps each process's counts in a file, and whoever is asked adds them up.
BentoML's folder for these files is one for all servers of a user, and each start empties it: a
second server would take the counts of the first away and answer with its own. This module may
not import prometheus_client, which reads the variable once.

prometheus_client makes its files without taking up their room, and writes to maps of them: where
the disk is full by then, that is a signal that kills. So their room is taken up before.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

logger = logging.getLogger(__name__)

OWN_FOLDER = "DYNASERVE_METRICS_DIR"
"""Set by a supervisor for its workers."""
CLIENT_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""What prometheus_client reads; unset, counts stay in the process."""
FILES = {"counter": 2**20, "histogram": 2**20, "gauge_livesum": 2**16}
"""Bytes of a worker's files, by the kind of count: several times what all of ours take."""


def make_own_folder() -> str:
    """Make this supervisor's folder, name it to the workers that will start, and return it.

    It goes when the supervisor ends.

    Raises
    ------
    OSError
        There is no room in it for the counts of a worker.
    """
    folder = tempfile.mkdtemp(prefix="dynaserve-metrics-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        for path in reserved(folder):
            path.unlink()
    except OSError as error:
        raise OSError(
            f"{folder}: no room for the counts of a worker, {sum(FILES.values())} bytes "
            f"({error.strerror}); make some, or name another directory with TMPDIR"
        ) from None
    os.environ[OWN_FOLDER] = folder
    return folder


def use_own_folder() -> None:
    """Have prometheus_client count in the supervisor's folder, if there is one.

    To be called before prometheus_client is imported; a supervisor itself counts nothing. Where
    there is no room, what this process counts stays in it, and is in no sum.
    """
    folder = os.environ.get(OWN_FOLDER)
    if not folder:
        return
    os.environ[CLIENT_FOLDER] = folder
    try:
        reserved(folder)
    except OSError as error:
        logger.error("the metrics go without this worker: %s: %s", folder, error.strerror)
        del os.environ[CLIENT_FOLDER]


def reserved(folder: str) -> list[Path]:
    """Take up the room of this process's files, under the names that prometheus_client gives them.

    A file that is there is left alone: it is that of a dead worker with the same process id, whose
    counts go on.

    Raises
    ------
    OSError
        There is not enough; nothing is left behind.
    """
    made: list[Path] = []
    try:
        for kind, size in FILES.items():
            path = Path(folder, f"{kind}_{os.getpid()}.db")
            with suppress(FileExistsError), path.open("xb") as file:
                made.append(path)
                file.write(bytes(size))  # not a hole
    except OSError:
        for path in made:
            path.unlink()
        raise
    return made
