from __future__ import annotations

import socket

import pytest

from dynaserve.cli.address import require_free, url_of


def test_a_port_in_use_is_named():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(OSError, match=f"127.0.0.1 port {port} .*in use.*--port"):
            require_free("127.0.0.1", port)
    require_free("127.0.0.1", port)


def test_a_host_that_does_not_exist_is_named():
    with pytest.raises(OSError, match="--host not a host"):
        require_free("not a host", 3000)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("::1", "http://[::1]:80"),
    ],
)
def test_the_url_is_one_that_this_machine_reaches(host, url):
    assert url_of(host, 80) == url
