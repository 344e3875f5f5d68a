"""The key that a request presents: one, in one header, or there is no telling whose it is."""

from __future__ import annotations

from collections.abc import Iterable

from dynaserve.serving.refused import RefusedError

Headers = Iterable[tuple[bytes, bytes]]


def presented_key(headers: Headers) -> str | None:
    """Return what stands where a key should, whatever it is; None where nothing does.

    Raises
    ------
    RefusedError
        Two things stand there.
    """
    found: dict[bytes, str] = {}
    for name, value in headers:
        if name in (b"authorization", b"x-api-key"):
            if name in found:
                raise RefusedError(f"send the header {name.decode()} once")
            found[name] = value.decode("latin-1").strip()
    if b"authorization" in found:
        scheme, _, token = found[b"authorization"].partition(" ")
        if scheme.lower() == "bearer":
            found[b"authorization"] = token.strip()
    keys = set(found.values())
    if len(keys) > 1:
        raise RefusedError("authorization and x-api-key differ; send one of them")
    return keys.pop() if keys else None
