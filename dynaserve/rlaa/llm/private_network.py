"""Which addresses are this machine or its private network, whatever they are spelt like.

A text that is to be protected must not leave for a stranger's machine on the way: that is the
privacy paradox of anonymizing by a remote model. A host is judged by all that it resolves to.
"""

from __future__ import annotations

import ipaddress
import socket

from dynaserve.rlaa.llm.protocol import LLMError

_PRIVATE = tuple(
    ipaddress.ip_network(network)
    for network in (
        "127.0.0.0/8",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "::1/128",
        "fc00::/7",
    )
)
"""Loopback, RFC 1918, RFC 4193. Link-local is left out: clouds keep their metadata there."""


class PublicAddressError(LLMError, ValueError):
    """A text would have left for a public address."""


def is_private(address: str) -> bool:
    """Return whether an IP address is loopback or private; IPv4 inside of IPv6 counts as IPv4."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
        ip = ip.ipv4_mapped
    return any(ip in network for network in _PRIVATE)


def addresses(host: str, port: int, *, scheme: str, allow_remote: bool) -> list[str]:
    """Return the IP addresses of a host that texts may be sent to, best first.

    Raises
    ------
    PublicAddressError
        If one of them is public, unless that is allowed; even then if the scheme is not https.
    LLMError
        If there is none.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise LLMError(f"{host}: no such host") from None
    resolved = list(dict.fromkeys(str(address[0]) for *_, address in found))
    public = [address for address in resolved if not is_private(address)]
    if public and not allow_remote:
        raise PublicAddressError(
            f"{host} is a public address ({public[0]}): to be anonymized there, texts would first "
            "leave this machine as they are. Use a server on this machine or its private network, "
            "or allow it (allow_remote)"
        )
    if public and scheme != "https":
        raise PublicAddressError(f"{host} is a public address ({public[0]}): it needs https")
    return resolved
