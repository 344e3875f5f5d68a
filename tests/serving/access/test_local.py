from __future__ import annotations

from typing import Any

import pytest

from dynaserve.serving.access.errors import ForbiddenError
from dynaserve.serving.access.local import is_loopback, require_local

V4, V6, MAPPED = ("127.0.0.1", 3000), ("::1", 3000), ("::ffff:127.0.0.1", 3000)
OUTSIDE = ("192.0.2.7", 3000)


def asked(
    server: Any = V4,
    client: Any = ("127.0.0.1", 50000),
    host: str | None = "127.0.0.1:3000",
    **more: str,
) -> None:
    named = {} if host is None else {"host": host}
    headers = [
        (name.replace("_", "-").encode(), value.encode("latin-1"))
        for name, value in (named | more).items()
    ]
    require_local({"type": "http", "server": server, "client": client, "headers": headers})


@pytest.mark.parametrize(
    ("server", "client", "host"),
    [
        (V4, ("127.0.0.1", 1), "127.0.0.1:3000"),
        (V4, ("127.0.0.1", 1), "localhost:3000"),
        (V4, ("127.0.0.1", 1), "LocalHost"),
        (V4, ("127.0.0.1", 1), "model.localhost:3000"),
        (("127.8.8.8", 3000), ("127.0.0.1", 1), "127.8.8.8:3000"),
        (V6, ("::1", 1), "[::1]:3000"),
        (MAPPED, ("::ffff:127.0.0.1", 1), "127.0.0.1:3000"),
        (V4, ("127.0.0.1", 1), "localhost:8080"),  # a forwarded port
        (("127.0.0.1", None), ("127.0.0.1", 123), "127.0.0.1"),  # httpx.ASGITransport
        (("localhost", None), ("127.0.0.1", 123), "localhost"),
    ],
)
def test_this_machine_is_answered(server: Any, client: Any, host: str) -> None:
    asked(server, client, host)


@pytest.mark.parametrize(
    ("server", "client"),
    [
        (OUTSIDE, ("192.0.2.9", 1)),
        (OUTSIDE, OUTSIDE),  # this machine, by an address that others reach
        (OUTSIDE, ("127.0.0.1", 1)),
        (V4, ("192.0.2.9", 1)),  # a server that believes a proxy
        (V4, ("", 0)),
        (V4, ("unknown", 0)),
        (V4, None),
        (None, ("127.0.0.1", 1)),
        (("/run/dynaserve.sock", None), None),
        (("/run/dynaserve.sock", None), ("127.0.0.1", 1)),
        (("", None), ("127.0.0.1", 1)),
        (("0.0.0.0", 3000), ("127.0.0.1", 1)),
        (("::ffff:192.0.2.7", 3000), ("::ffff:127.0.0.1", 1)),
        (("localhost", None), ("192.0.2.9", 1)),
        (("test", None), ("127.0.0.1", 123)),  # no address: who listens at a name is anybody
        (("model.example", 3000), ("127.0.0.1", 1)),
        (("@dynaserve", None), ("127.0.0.1", 1)),
        (("/run/x.localhost", None), ("127.0.0.1", 1)),
    ],
)
def test_another_machine_is_not_and_is_told_what_to_do(server: Any, client: Any) -> None:
    with pytest.raises(ForbiddenError, match=r"dynaserve keys create NAME.*--keys FILE") as error:
        asked(server, client)
    assert (error.value.status, error.value.reason) == (403, "forbidden")


@pytest.mark.parametrize(
    "header",
    [
        *("x_forwarded_for", "x_forwarded_host", "x_forwarded_proto", "x_forwarded_port"),
        *("x_forwarded_server", "x_forwarded_client_cert", "x_forwarded", "forwarded", "via"),
        *("x_envoy_external_address", "x_envoy_expected_rq_timeout_ms", "x_real_ip"),
        *("cf_connecting_ip", "cf_ray", "true_client_ip", "x_client_ip", "x_cluster_client_ip"),
        *("fastly_client_ip", "x_original_forwarded_for", "x_appengine_user_ip", "cdn_loop"),
    ],
)
def test_what_came_through_a_proxy_is_not_even_if_it_claims_to_be_here(header: str) -> None:
    with pytest.raises(ForbiddenError, match="through a proxy"):
        asked(**{header: "127.0.0.1"})


@pytest.mark.parametrize("header", ["x_request_id", "x_api_key", "accept", "traceparent"])
def test_what_clients_send_themselves_is_of_no_proxy(header: str) -> None:
    asked(**{header: "127.0.0.1"})


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:3000",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "192.0.2.7:3000",
        "[::1",
        "[192.0.2.7]:3000",
        "evil.example@127.0.0.1",
        "\xff",
        "test",
        None,
    ],
)
def test_a_name_that_was_led_here_is_not(host: str | None) -> None:
    with pytest.raises(ForbiddenError, match="not by another name"):
        asked(host=host) if host != "[::1" else asked(host="[evil.example")


def test_two_names_are_none() -> None:
    scope = {"server": V4, "client": V4, "headers": [(b"host", b"localhost")] * 2}
    with pytest.raises(ForbiddenError, match="not by another name"):
        require_local(scope)


def test_the_services_own_page_may_ask() -> None:
    asked(origin="http://127.0.0.1:3000")
    asked(host="localhost:3000", origin="http://LOCALHOST:3000")
    asked(V6, ("::1", 1), "[::1]:3000", origin="http://[::1]:3000")
    asked(host="localhost", origin="https://localhost")


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "",
        "http://localhost:3000",
        "http://127.0.0.1:3001",
        "http://127.0.0.1",
        "127.0.0.1:3000",
        "http://127.0.0.1:3000.evil.example",
    ],
)
def test_a_page_of_another_server_may_not(origin: str) -> None:
    with pytest.raises(ForbiddenError, match="web pages of other servers"):
        asked(origin=origin)


@pytest.mark.parametrize(
    ("name", "loopback"),
    [
        *(("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("::ffff:127.0.0.1", True)),
        *(("localhost", True), ("me.localhost", True), ("localhost.example", False)),
        *(("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("a.b", False), ("", False)),
    ],
)
def test_loopback_is_recognized(name: str, loopback: bool) -> None:
    assert is_loopback(name) is loopback
