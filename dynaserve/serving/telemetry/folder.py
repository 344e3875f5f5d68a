"""Where the workers of one server count: files in a folder that no other server writes in.

prometheus_client keeps each process's counts in a file, and whoever is asked adds them up.
BentoML's folder for these files is one for all servers of a user, and each start empties it: a
second server would take the counts of the first away and answer with its own. This module may
not import prometheus_client, which reads the variable once.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

OWN_FOLDER = "DYNASERVE_METRICS_DIR"
"""Set by a supervisor for its workers."""
CLIENT_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""What prometheus_client reads; unset, counts stay in the process."""


def make_own_folder() -> str:
    """Make this supervisor's folder, name it to the workers that will start, and return it.

    It goes when the supervisor ends.
    """
    folder = tempfile.mkdtemp(prefix="dynaserve-metrics-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[OWN_FOLDER] = folder
    return folder


def use_own_folder() -> None:
    """Have prometheus_client count in the supervisor's folder, if there is one.

    To be called before prometheus_client is imported; a supervisor itself counts nothing.
    """
    if folder := os.environ.get(OWN_FOLDER):
        os.environ[CLIENT_FOLDER] = folder
