"""A worker ends when its supervisor is gone: killed outright, it cannot end its workers.

They would answer on, on the same port and with old settings, beside those of the next start.
"""

from __future__ import annotations

import os
import signal
import threading
from time import sleep

SUPERVISOR = "DYNASERVE_SUPERVISOR_PID"
LOOK_SECONDS = 1.0
GRACE_SECONDS = 10.0


def name_supervisor() -> None:
    """Tell the workers that this process will start who their parent is.

    One that asked for itself, once it is up, would miss a parent that died while it started.
    """
    os.environ[SUPERVISOR] = str(os.getpid())


def end_with_supervisor() -> None:
    """Watch this worker's parent from a thread; after its death, end as after a SIGTERM.

    What has not ended in ten seconds ends anyway.
    """
    parent = int(os.environ.get(SUPERVISOR) or os.getppid())
    threading.Thread(target=watch, args=(parent,), name="supervisor", daemon=True).start()


def watch(parent: int) -> None:
    """End this process once it has another parent than ``parent``."""
    while os.getppid() == parent:
        sleep(LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    sleep(GRACE_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)
