"""What a request is called in answers, logs and traces."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

HEADER = b"x-request-id"
SAFE = re.compile(rb"[A-Za-z0-9._-]{1,128}")
"""What a client may call its request: nothing that could break a line or a header."""


def request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the client's ``x-request-id`` if it is short and plain, else a new one.

    Parameters
    ----------
    headers : iterable of (bytes, bytes)
        Of the ASGI scope: names in lower case.
    """
    for name, value in headers:
        if name == HEADER:
            if SAFE.fullmatch(value):
                return value.decode("ascii")
            break
    return os.urandom(16).hex()
