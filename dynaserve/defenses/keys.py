"""The secret behind keyed noise: where it comes from and what it may never do.

Whoever holds it can take the noise off every answer. It is therefore never printed, pickled,
saved with a defense or echoed in an error; it only ever leaves as a keyed hash.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
import stat
from pathlib import Path
from typing import IO, NoReturn

from dynaserve.atomic import create_file
from dynaserve.state import state_directory, state_path

_SIZE = 32
_VARIABLE = "DYNASERVE_NOISE_KEY"
_FILE = "noise.key"


class NoiseKey:
    """32 secret bytes.

    Examples
    --------
    >>> NoiseKey(bytes(range(32)))
    NoiseKey(hidden)
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, (bytes, bytearray)):
            raise TypeError(f"noise key: needs {_SIZE} bytes, not {type(secret).__name__}")
        _require_strong(bytes(secret), "noise key")
        self._secret = bytes(secret)

    @classmethod
    def resolve(cls, key: bytes | NoiseKey | None = None) -> NoiseKey:
        """Return ``key``, else the key in the environment, else the one in the state directory.

        ``DYNASERVE_NOISE_KEY`` holds 64 hexadecimal characters or the base64 of 32 bytes. The
        file ``noise.key`` holds 32 raw bytes; the first process that needs it creates it, with
        mode 0600, and every other one on the machine reads it.

        Raises
        ------
        ValueError
            If the key is not 32 bytes or is trivial, its file is no regular file, or others can
            read it, own it or replace it.
        OSError
            If the key file cannot be created.
        """
        if isinstance(key, NoiseKey):
            return key
        if key is not None:
            return cls(key)
        if (text := os.environ.get(_VARIABLE)) is not None:
            return cls(_decode(text))
        return cls(_from_file(state_directory() / _FILE))

    @staticmethod
    def exists() -> bool:
        """Whether `resolve` would find a key, good or not, rather than make one."""
        return os.environ.get(_VARIABLE) is not None or os.path.lexists(state_path() / _FILE)

    @staticmethod
    def source() -> str:
        """Return in words where `resolve` finds the key, without reading it."""
        if os.environ.get(_VARIABLE) is not None:
            return f"environment ({_VARIABLE})"
        path = state_path() / _FILE
        return f"file {path}" if NoiseKey.exists() else f"none yet; {path} is made at first use"

    def blake2b(self, digest_size: int) -> hashlib.blake2b:
        """Return a fresh BLAKE2b (RFC 7693) state keyed with the secret."""
        return hashlib.blake2b(key=self._secret, digest_size=digest_size)

    def __repr__(self) -> str:
        return "NoiseKey(hidden)"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError(
            "a noise key cannot be pickled or copied: it would leave the process. Save the "
            f"defense with save() and give the other process {_VARIABLE} or the key file"
        )


def _require_strong(secret: bytes, where: str) -> None:
    if len(secret) != _SIZE:
        raise ValueError(f"{where}: needs exactly {_SIZE} bytes, got {len(secret)}")
    if not any(secret):
        raise ValueError(f"{where}: all bytes are zero; make one with secrets.token_bytes({_SIZE})")


def _decode(text: str) -> bytes:
    text = text.strip()
    try:
        secret = bytes.fromhex(text) if len(text) == 2 * _SIZE else _from_base64(text)
    except ValueError:
        secret = b""
    if len(secret) != _SIZE:
        # Not even its length is echoed: a shortened key is still most of a key.
        raise ValueError(
            f"{_VARIABLE}: needs {2 * _SIZE} hexadecimal characters or the base64 of {_SIZE} bytes"
        )
    _require_strong(secret, _VARIABLE)
    return secret


def _from_base64(text: str) -> bytes:
    try:
        padded = text + "=" * (-len(text) % 4)
        return base64.b64decode(padded.replace("-", "+").replace("_", "/"), validate=True)
    except binascii.Error:
        raise ValueError("not base64") from None


def _from_file(path: Path) -> bytes:
    _require_own_directory(path.parent)
    if not path.exists():
        _create(path)
    with _open(path) as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise ValueError(f"noise key file {path}: is not a regular file; delete it")
        if info.st_uid != os.geteuid():
            raise ValueError(
                f"noise key file {path}: belongs to user {info.st_uid}, not to user "
                f"{os.geteuid()} who runs this; run it as the owner, or choose another place by "
                "DYNASERVE_STATE_DIR"
            )
        if info.st_mode & 0o077:
            raise ValueError(
                f"noise key file {path}: others can read it (mode {stat.S_IMODE(info.st_mode):04o})"
                "; run chmod 600 on it if nobody has, else delete it to get a new one"
            )
        secret = file.read()
    _require_strong(secret, f"noise key file {path}")
    return secret


def _open(path: Path) -> IO[bytes]:
    def at_once(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NONBLOCK)  # a pipe would wait for somebody to write

    try:
        return open(path, "rb", opener=at_once)
    except PermissionError:
        raise ValueError(
            f"noise key file {path}: this user may not read it; run this as its owner, or choose "
            "another place by DYNASERVE_STATE_DIR"
        ) from None
    except (FileNotFoundError, IsADirectoryError):
        raise ValueError(
            f"noise key file {path}: is a directory, or a link to nothing; delete it"
        ) from None


def _require_own_directory(directory: Path) -> None:
    """Refuse a directory in which somebody else could put a key of theirs in place of ours."""
    info = directory.stat()
    if info.st_uid not in (0, os.geteuid()):
        raise ValueError(
            f"noise key: the state directory {directory} belongs to user {info.st_uid}, who could "
            "replace the key; set DYNASERVE_STATE_DIR to a directory of your own, or set "
            f"{_VARIABLE}"
        )
    mode = stat.S_IMODE(info.st_mode)
    if mode & 0o022:
        raise ValueError(
            f"noise key: others can write in the state directory {directory} (mode {mode:04o}); "
            "run chmod go-w on it, set DYNASERVE_STATE_DIR to a directory inside it that does not "
            f"exist yet, or set {_VARIABLE}"
        )


def _create(path: Path) -> None:
    try:
        create_file(path, secrets.token_bytes(_SIZE), mode=0o600)
    except OSError as error:
        raise OSError(
            f"noise key file {path}: cannot be created ({error.strerror}); it takes a place "
            f"that this user can write and that has hard links. Name one by DYNASERVE_STATE_DIR, "
            f"or set {_VARIABLE}"
        ) from error
