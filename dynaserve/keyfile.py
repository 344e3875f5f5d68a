"""Secret keys in files that nobody but their user can read or replace.

Whatever is made from a key is as secret as its file. Nothing of a key is ever shown, not even in
an error; it knows nothing of what a key is for.
"""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dynaserve.atomic import create_file

SIZE = 32
"""Bytes of a key."""


@dataclass(frozen=True)
class KeyFile:
    """A file with 32 raw bytes.

    Attributes
    ----------
    path
        Where it is.
    name
        What its key is called in errors.
    elsewhere
        How to choose another place, in the imperative.
    otherwise
        How to do without a place; empty if there is no way.
    """

    path: Path
    name: str
    elsewhere: str
    otherwise: str = ""

    def read(self) -> bytes:
        """Return the key; the first process that needs it makes the file, with mode 0600.

        Raises
        ------
        ValueError
            If the key is not 32 bytes or is trivial, its file is no regular file, or others can
            read it, own it or replace it.
        OSError
            If the file cannot be created.
        """
        self._require_own_directory()
        if not self.path.exists():
            self._create()
        with self._open() as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                raise ValueError(f"{self._named}: is not a regular file; delete it")
            if info.st_uid != os.geteuid():
                raise ValueError(
                    f"{self._named}: belongs to user {info.st_uid}, not to user {os.geteuid()} "
                    f"who runs this; run it as the owner, or {self.elsewhere}"
                )
            if info.st_mode & 0o077:
                raise ValueError(
                    f"{self._named}: others can read it (mode {stat.S_IMODE(info.st_mode):04o}); "
                    "run chmod 600 on it if nobody has, else delete it to get a new one"
                )
            key = file.read()
        require_strong(key, self._named)
        return key

    @property
    def _named(self) -> str:
        return f"{self.name} file {self.path}"

    @property
    def _or_otherwise(self) -> str:
        return f", or {self.otherwise}" if self.otherwise else ""

    def _open(self) -> IO[bytes]:
        def at_once(name: str, flags: int) -> int:
            return os.open(name, flags | os.O_NONBLOCK)  # a pipe would wait for somebody to write

        try:
            return open(self.path, "rb", opener=at_once)
        except PermissionError:
            raise ValueError(
                f"{self._named}: this user may not read it; run this as its owner, or "
                f"{self.elsewhere}"
            ) from None
        except (FileNotFoundError, IsADirectoryError):
            raise ValueError(
                f"{self._named}: is a directory, or a link to nothing; delete it"
            ) from None

    def _require_own_directory(self) -> None:
        """Refuse a directory in which somebody else could put a key of theirs in place of ours."""
        directory = self.path.parent
        info = directory.stat()
        if info.st_uid not in (0, os.geteuid()):
            raise ValueError(
                f"{self.name}: the directory {directory} belongs to user {info.st_uid}, who could "
                f"replace the key; {self.elsewhere}{self._or_otherwise}"
            )
        mode = stat.S_IMODE(info.st_mode)
        if mode & 0o022:
            raise ValueError(
                f"{self.name}: others can write in the directory {directory} (mode {mode:04o}); "
                f"run chmod go-w on it, or {self.elsewhere}{self._or_otherwise}"
            )

    def _create(self) -> None:
        try:
            create_file(self.path, secrets.token_bytes(SIZE), mode=0o600)
        except OSError as error:
            raise OSError(
                f"{self._named}: cannot be created ({error.strerror}); it takes a place that this "
                f"user can write and that has hard links; {self.elsewhere}{self._or_otherwise}"
            ) from error


def require_strong(key: object, where: str) -> None:
    """Refuse what is no key: 32 bytes, not all of them zero.

    Raises
    ------
    TypeError, ValueError
        Beginning with ``where``.
    """
    if not isinstance(key, (bytes, bytearray)):
        raise TypeError(f"{where}: needs {SIZE} bytes, not {type(key).__name__}")
    if len(key) != SIZE:
        raise ValueError(f"{where}: needs exactly {SIZE} bytes, got {len(key)}")
    if not any(key):
        raise ValueError(f"{where}: all bytes are zero; make one with secrets.token_bytes({SIZE})")
