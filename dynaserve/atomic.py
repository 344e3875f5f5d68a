"""Files that appear whole or not at all, however many processes write at once.

It moves bytes and knows no format.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


def replace_file(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Put ``content`` at ``path``; a reader sees the old file or the new one, never a part."""
    replace_with(path, [content], mode=mode)


def replace_with(path: Path, pieces: Iterable[bytes], *, mode: int = 0o666) -> None:
    """Do as `replace_file`, with content that comes in pieces; if they fail, nothing changes."""
    with _staged(path, pieces, mode=mode) as staged:
        staged.replace(path)


def create_file(path: Path, content: bytes, *, mode: int) -> bool:
    """Create ``path`` with ``content``; return False, changing nothing, if it exists.

    Of several processes that race exactly one wins. The name is linked to a file that is
    already complete, so the losers can read it at once.
    """
    with _staged(path, [content], mode=mode) as staged:
        try:
            os.link(staged, path)
        except FileExistsError:
            return False
    return True


@contextmanager
def _staged(path: Path, pieces: Iterable[bytes], *, mode: int) -> Iterator[Path]:
    """Write ``pieces`` to a fresh file beside ``path``, and remove what is left of it after."""
    staged = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        yield staged
    finally:
        staged.unlink(missing_ok=True)
