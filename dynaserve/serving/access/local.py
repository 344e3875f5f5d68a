"""Without API keys, only this machine is answered: what counts as this machine, and asks itself.

Three things can go between: another machine, a proxy, and a web page in a browser here. Whatever
cannot be judged is none of this machine's.
"""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from dynaserve.serving.access.errors import ForbiddenError

FORWARDED = frozenset(
    {
        *(b"forwarded", b"forwarded-for", b"via", b"x-forwarded", b"cdn-loop"),
        *(b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip", b"true-client-ip"),
        *(b"x-original-host", b"x-original-uri", b"x-original-url", b"x-original-method"),
        *(b"fastly-client-ip", b"fly-client-ip", b"x-azure-clientip", b"x-azure-socketip"),
        *(b"proxy-client-ip", b"wl-proxy-client-ip", b"x-proxyuser-ip", b"x-scheme"),
        *(b"client-ip", b"x-forward-for", b"x-host"),
    }
)
FORWARDED_PREFIXES = (
    b"x-forwarded-",
    b"x-original-forwarded-",
    b"x-envoy-",
    b"x-amz",
    b"x-cloud-trace-",
    b"x-varnish",
    b"x-vercel-",
    b"tailscale-",
    b"x-appengine-",
    b"cf-",
)
"""What proxies add. A server believes some of it about who the client is, so it comes first."""

NEEDS_KEYS = (
    "; to answer others too, make API keys with 'dynaserve keys create NAME', and start the "
    "service again, with --keys FILE if they are not in the state directory"
)


def require_local(scope: Mapping[str, Any]) -> None:
    """Refuse a request that does not come from this machine, or was made by a web page elsewhere.

    Raises
    ------
    ForbiddenError
        Saying which, and what to do.
    """
    headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
    if any(name in FORWARDED or name.startswith(FORWARDED_PREFIXES) for name, _ in headers):
        raise ForbiddenError(f"without API keys nothing is answered through a proxy{NEEDS_KEYS}")
    here, there = scope.get("server"), scope.get("client")
    # A server gives an address, or the path of a Unix socket: who is at the other end of one of
    # those cannot be told.
    if here is None or there is None or not (is_loopback(here[0]) and is_loopback(there[0])):
        raise ForbiddenError(
            f"without API keys only this machine is answered, over 127.0.0.1 or [::1]{NEEDS_KEYS}"
        )
    _require_own_page(headers)


def _require_own_page(headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Refuse what a browser sends for a page that is not this server's own.

    A page can have its own name lead here (DNS rebinding), which then stands in ``host``. One that
    keeps its name can send a POST, which then has an ``origin``; what it can send without one is a
    GET whose answer it does not see.
    """
    hosts = [value.decode("latin-1").lower() for name, value in headers if name == b"host"]
    if len(hosts) != 1 or not is_loopback(name_of(hosts[0])):
        raise ForbiddenError(
            "without API keys this service is asked as 127.0.0.1, [::1] or localhost, not by "
            f"another name{NEEDS_KEYS}"
        )
    origins = [value.decode("latin-1").lower() for name, value in headers if name == b"origin"]
    if any(origin.partition("://")[2] != hosts[0] for origin in origins):
        raise ForbiddenError("web pages of other servers may not ask this one")


def name_of(host: str) -> str:
    """Return the name or address in ``name:port``, ``1.2.3.4:port`` or ``[::1]:port``."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


@functools.lru_cache(maxsize=256)
def is_loopback(name: str) -> bool:
    """Whether a name or an address is this machine's, for this machine alone."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        # RFC 6761. The path of a socket may end like that, and is no name.
        return name == "localhost" or (name.endswith(".localhost") and "/" not in name)
    mapped = getattr(address, "ipv4_mapped", None)  # what a socket for both families says
    return (mapped or address).is_loopback
