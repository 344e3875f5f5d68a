"""What an API key looks like, and its digest. It knows no file, no client and no request.

``dyn_`` + id (12 hexadecimal digits) + ``_`` + secret (64 of them): a fixed form with a prefix of
its own, so that scanners for leaked secrets can find one in a commit or in a log.
"""

from __future__ import annotations

import hashlib
import re
import secrets

ID_BYTES = 6
SECRET_BYTES = 32

ID = re.compile(r"[0-9a-f]{12}")
PREFIX = "dyn_"
KEY = re.compile(PREFIX + r"([0-9a-f]{12})_([0-9a-f]{64})")


def new_id() -> str:
    """Return a random id; it is no secret."""
    return secrets.token_hex(ID_BYTES)


def new_secret() -> str:
    """Return 256 random bits as text."""
    return secrets.token_hex(SECRET_BYTES)


def key_of(identity: str, secret: str) -> str:
    """Return what a client sends."""
    return f"{PREFIX}{identity}_{secret}"


def parts_of(presented: str) -> tuple[str, str]:
    """Return id and secret of a key; of anything else no id, and the text as the secret."""
    match = KEY.fullmatch(presented)
    return (match[1], match[2]) if match else ("", presented)


def digest_of(secret: str) -> bytes:
    """Return SHA-256 of a secret, 32 bytes.

    A slow hash makes guessing passwords dear. A secret here is 256 random bits: guessing one takes
    2^255 tries at any speed, and a slow hash would only slow down each request.
    """
    return hashlib.sha256(secret.encode(errors="replace")).digest()
