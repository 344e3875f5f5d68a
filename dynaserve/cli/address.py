"""Checks of the address to listen on, before any server starts."""

from __future__ import annotations

import socket


def require_free(host: str, port: int) -> None:
    """Raise unless a server could listen on ``host`` and ``port`` now.

    Raises
    ------
    OSError
        Saying whether the host or the port is the problem.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise OSError(f"--host {host}: {error.strerror}") from None
    with socket.socket(family, kind, protocol) as listener:
        # as servers do: a port whose last connections are still closing is free
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise OSError(f"cannot listen on {host} port {port} ({reason}); try --port") from None


def url_of(host: str, port: int) -> str:
    """Return the URL under which this machine reaches a server bound to ``host``."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 - compared
    if ":" in reachable and not reachable.startswith("["):
        reachable = f"[{reachable}]"
    return f"http://{reachable}:{port}"
