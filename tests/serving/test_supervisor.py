from __future__ import annotations

import socket
from typing import Any

import bentoml.serving
import pytest
from bentoml._internal.utils.circus import Arbiter

from dynaserve.serving.supervisor import refusing_first, settle


class Stopping:
    """What an arbiter has: the sockets on which its workers accept."""

    def __init__(self, *sockets: socket.socket) -> None:
        self.sockets = dict(enumerate(sockets))


def test_new_connections_are_refused_before_the_workers_are_told_to_end() -> None:
    refused: list[bool] = []

    def stop(_: Any) -> str:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address, timeout=5)
        refused.append(True)
        return "stopped"

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        address = listening.getsockname()
        socket.create_connection(address, timeout=5).close()
        assert refusing_first(stop)(Stopping(listening)) == "stopped"
    assert refused == [True]


def test_a_socket_that_is_closed_already_is_no_obstacle() -> None:
    with socket.socket() as closed:
        pass
    assert refusing_first(lambda _: 7)(Stopping(closed)) == 7


def test_bentoml_replaces_workers_in_a_container_too_and_is_settled_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Arbiter, "stop", Arbiter.stop)
    monkeypatch.setattr(
        bentoml.serving, "running_inside_container", bentoml.serving.running_inside_container
    )
    monkeypatch.setenv("BENTOML_CONTAINERIZED", "true")
    settle()
    stop = Arbiter.stop
    settle()
    assert Arbiter.stop is stop
    watcher = bentoml.serving.create_watcher("name", args=[])
    assert watcher.respawn
