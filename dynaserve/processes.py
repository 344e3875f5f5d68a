"""Worker processes that end with the process that started them.

A worker waits for tasks on a pipe that it holds open itself: after a kill of its parent it would
wait for ever, with all its memory.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

__all__ = ["worker_pool"]


def worker_pool(
    count: int, initializer: Callable[..., None] | None = None, *arguments: Any
) -> ProcessPoolExecutor:
    """Return a pool of ``count`` processes, started anew: call it from an importable main module.

    A forked process would inherit the locks and threads of numerical libraries in an unknown
    state.

    Parameters
    ----------
    initializer, arguments
        What each worker calls first.
    """
    return ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(initializer, arguments),
    )


def _begin(initializer: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    if initializer is not None:
        initializer(*arguments)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101 - runs in workers only
    parent.join()
    os._exit(1)
