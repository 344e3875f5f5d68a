"""What became of a request is told apart, against servers that end in each way there is."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Thread

import pytest

from benchmarks.clients import Request
from benchmarks.load_connections import Connection, Crowd, Outcome, longest_pause

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's tcp_info")

REQUEST = Request("/here", b"x" * 200, {"X-Asked": "so"})
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
ANSWER = HEAD + b"\r\nhi"
Handler = Callable[[socket.socket], object]


@contextmanager
def server(handle: Handler) -> Iterator[tuple[int, Thread]]:
    """Take one connection, and close it when the handler is done with it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            connection, _ = listening.accept()
            with connection:
                handle(connection)

        thread = Thread(target=run)
        thread.start()
        yield listening.getsockname()[1], thread
        thread.join()


def read(connection: socket.socket) -> None:
    assert len(connection.recv(65536)) == len(REQUEST.message())


def answer(connection: socket.socket) -> None:
    read(connection)
    connection.sendall(ANSWER)


def steps(*handlers: Handler) -> Handler:
    return lambda connection: [handle(connection) for handle in handlers]


def wait(_: socket.socket) -> None:
    time.sleep(0.2)


@pytest.mark.parametrize(
    ("handler", "outcomes"),
    [
        (steps(answer, answer), [Outcome.ANSWERED, Outcome.ANSWERED]),
        (read, [Outcome.LOST]),
        (steps(answer, read), [Outcome.ANSWERED, Outcome.LOST]),
        (steps(read, lambda c: c.sendall(ANSWER[:-1])), [Outcome.LOST]),
        (wait, [Outcome.NEVER_ACCEPTED]),
        (steps(answer, wait), [Outcome.ANSWERED, Outcome.UNREAD]),
        (lambda c: c.recv(10), [Outcome.NEVER_ACCEPTED]),
    ],
)
def test_requests_without_an_answer_were_read_or_not(
    handler: Handler, outcomes: list[Outcome]
) -> None:
    with server(handler) as (port, _), closing(Connection(port, REQUEST)) as connection:
        assert [connection.ask() for _ in outcomes] == outcomes


def test_a_request_to_a_connection_that_was_closed_came_late() -> None:
    with server(answer) as (port, thread), closing(Connection(port, REQUEST)) as connection:
        assert connection.ask() is Outcome.ANSWERED
        thread.join()
        assert connection.ask() is Outcome.LATE


def test_a_server_that_says_nothing_hangs() -> None:
    with server(steps(read, wait)) as (port, _):
        assert Connection(port, REQUEST, timeout=0.05).ask() is Outcome.HUNG


def test_an_error_is_no_answer() -> None:
    handler = steps(read, lambda c: c.sendall(ANSWER.replace(b"200 OK", b"503 No")))
    with server(handler) as (port, _), closing(Connection(port, REQUEST)) as connection:
        assert connection.ask() is Outcome.REFUSED


def test_nobody_listens() -> None:
    with server(wait) as (port, _):
        socket.create_connection(("127.0.0.1", port)).close()
    assert Connection(port, REQUEST).ask() is Outcome.NO_CONNECTION


def test_after_an_answer_that_ends_the_connection_another_one_is_opened() -> None:
    last = steps(read, lambda c: c.sendall(HEAD + b"Connection: close\r\n\r\nhi"))
    with server(last) as (port, _), closing(Connection(port, REQUEST)) as connection:
        assert connection.ask() is Outcome.ANSWERED
        assert connection.local_port == 0
    assert connection.ask() is Outcome.NO_CONNECTION


def test_a_crowd_tells_of_every_request_and_leaves_when_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with Crowd(port, REQUEST, 1, persistent=False) as crowd:
            connection, _ = listening.accept()
            listening.close()
            with connection:
                steps(answer, answer, read)(connection)
            # The last thing that the client does before it leaves is to find nobody.
            while not crowd.is_done():
                time.sleep(0.01)
    tally = crowd.stop()
    expected = {Outcome.ANSWERED: 2, Outcome.LOST: 1, Outcome.NO_CONNECTION: 1}
    assert tally.outcomes == expected
    assert len(tally.answered_at) == 2
    assert tally.answered_at == sorted(tally.answered_at)


def test_the_longest_pause_is_between_answers() -> None:
    assert longest_pause([1.0, 1.5, 4.0, 4.5]) == 2.5
    assert longest_pause([1.0]) == 0.0
