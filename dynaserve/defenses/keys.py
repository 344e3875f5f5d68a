"""The secret behind keyed noise: where it comes from and what it may never do.

Whoever holds it can take the noise off every answer. It is therefore never printed, pickled,
saved with a defense or echoed in an error; it only ever leaves as a keyed hash.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dynaserve import _core
from dynaserve.keyfile import SIZE, KeyFile, require_strong
from dynaserve.state import state_directory, state_path

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
        require_strong(secret, "noise key")
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
        file = KeyFile(
            state_directory() / _FILE,
            "noise key",
            elsewhere="choose another place by DYNASERVE_STATE_DIR",
            otherwise=f"set {_VARIABLE}",
        )
        return cls(file.read())

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

    def row_hashes(self, prefix: bytes, data: bytes, rows: int) -> NDArray[np.uint32]:
        """Return 128 bits of BLAKE2b, keyed with the secret, of ``prefix`` and each of the rows.

        Parameters
        ----------
        prefix : bytes
            Hashed before every row.
        data : bytes
            So many rows, one after another, of one size.
        rows : int
            At least one.

        Returns
        -------
        ndarray (rows, 4), uint32
        """
        return _core.blake2b(self._secret, prefix, data, rows)

    def __repr__(self) -> str:
        return "NoiseKey(hidden)"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError(
            "a noise key cannot be pickled or copied: it would leave the process. Save the "
            f"defense with save() and give the other process {_VARIABLE} or the key file"
        )


def _decode(text: str) -> bytes:
    text = text.strip()
    try:
        secret = bytes.fromhex(text) if len(text) == 2 * SIZE else _from_base64(text)
    except ValueError:
        secret = b""
    if len(secret) != SIZE:
        # Not even its length is echoed: a shortened key is still most of a key.
        raise ValueError(
            f"{_VARIABLE}: needs {2 * SIZE} hexadecimal characters or the base64 of {SIZE} bytes"
        )
    require_strong(secret, _VARIABLE)
    return secret


def _from_base64(text: str) -> bytes:
    try:
        padded = text + "=" * (-len(text) % 4)
        return base64.b64decode(padded.replace("-", "+").replace("_", "/"), validate=True)
    except binascii.Error:
        raise ValueError("not base64") from None
