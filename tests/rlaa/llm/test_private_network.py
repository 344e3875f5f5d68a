from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from dynaserve.rlaa.llm.private_network import PublicAddressError, addresses, is_private
from dynaserve.rlaa.llm.protocol import LLMError

Resolving = Callable[..., None]


@pytest.fixture
def resolving(monkeypatch: pytest.MonkeyPatch) -> Resolving:
    """Let every name resolve to the given addresses."""

    def to(*found: str) -> None:
        def lookup(_: str, port: int, **__: Any) -> list[Any]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in found]

        monkeypatch.setattr(socket, "getaddrinfo", lookup)

    return to


def ask(host: str, *, scheme: str = "http", allow_remote: bool = False) -> list[str]:
    return addresses(host, 80, scheme=scheme, allow_remote=allow_remote)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255",
        "192.168.1.1", "::1", "fd00::1", "::ffff:127.0.0.1", "::ffff:10.1.2.3",
    ],
)  # fmt: skip
def test_private_addresses(address: str) -> None:
    assert is_private(address)


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8", "172.15.255.255", "172.32.0.0", "192.167.255.255", "11.0.0.0", "0.0.0.0",
        "169.254.169.254", "100.64.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "::",
        "fe80::1", "fe80::1%eth0", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::7f00:1",
    ],
)  # fmt: skip
def test_public_addresses(address: str) -> None:
    assert not is_private(address)


@pytest.mark.parametrize("spelt", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "127.0.0.1"])
def test_loopback_by_any_spelling(spelt: str) -> None:
    assert ask(spelt) == ["127.0.0.1"]


@pytest.mark.parametrize("spelt", ["134744072", "0x08080808", "8.8.2056", "0.0.0.0"])
def test_public_by_any_spelling(spelt: str) -> None:
    with pytest.raises(PublicAddressError):
        ask(spelt)


def test_the_reason_is_given(resolving: Resolving) -> None:
    resolving("93.184.216.34")
    with pytest.raises(ValueError, match=r"example.org is a public address .*as they are"):
        ask("example.org")


def test_one_public_address_among_private_ones_is_too_many(resolving: Resolving) -> None:
    resolving("192.168.0.2", "93.184.216.34")
    with pytest.raises(PublicAddressError):
        ask("both.example")


def test_private_ones_come_in_order_and_once(resolving: Resolving) -> None:
    resolving("192.168.0.2", "10.0.0.1", "192.168.0.2")
    assert ask("models.lan") == ["192.168.0.2", "10.0.0.1"]


def test_a_public_one_may_be_allowed_but_not_in_the_clear(resolving: Resolving) -> None:
    resolving("93.184.216.34")
    assert ask("example.org", scheme="https", allow_remote=True) == ["93.184.216.34"]
    with pytest.raises(PublicAddressError, match="needs https"):
        ask("example.org", scheme="http", allow_remote=True)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 70 + ".example", ""])
def test_a_host_without_an_address_is_an_error(host: str) -> None:
    with pytest.raises(LLMError, match="no such host") as error:
        ask(host)
    assert not isinstance(error.value, PublicAddressError)
