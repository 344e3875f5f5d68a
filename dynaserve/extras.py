"""Libraries that extras bring: what is missing is named by the extra that has it.

It may import none of them itself: ``import dynaserve`` has to stay light.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needing(need: str, *, extra: str) -> Iterator[None]:
    """Say what to install where an import within it fails.

    Parameters
    ----------
    need
        What needs what, such as "the figure needs matplotlib".
    extra
        That has it.

    Raises
    ------
    ImportError
        With both.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(f'{need}: pip install "dynaserve[{extra}]"') from error
