from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from dynaserve.serving.observed import Observed, complete
from dynaserve.serving.visit import Visit, visit_of

SECRET = "4711"


class Noted:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.begun = 0
        self.ended: list[tuple[Visit, float]] = []
        self.closed = False

    def begin(self) -> None:
        self.begun += 1

    def end(self, scope: Any, visit: Visit, seconds: float) -> None:
        assert visit_of(scope) is visit
        self.ended.append((visit, seconds))

    def close(self) -> None:
        self.closed = True


def ask(app: Any, noted: Noted, scope: dict[str, Any] | None = None) -> list[Any]:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asked = {"type": "http", "method": "GET", "headers": []} | (scope or {})
    asyncio.run(Observed(app, observer=noted)(asked, receive, send))  # type: ignore[arg-type]
    return sent


async def answer(scope: Any, receive: Any, send: Any) -> None:
    visit_of(scope).rows = 3
    await send({"type": "http.response.start", "status": 201, "headers": [(b"server", b"x")]})
    await send({"type": "http.response.body", "body": b""})


def test_the_visit_that_the_app_fills_in_is_handed_on_when_it_has_ended() -> None:
    noted = Noted()
    ask(answer, noted)
    ((visit, seconds),) = noted.ended
    assert noted.begun == 1
    assert (visit.status, visit.rows) == (201, 3)
    assert seconds > 0


def test_an_app_that_raises_is_a_500_that_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError(SECRET)

    noted = Noted()
    start, body = ask(app, noted)
    assert start["status"] == 500
    assert json.loads(body["body"]) == {"error": "something went wrong"}
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text
    assert noted.ended[0][0].refused == "failed"


def test_an_app_that_raises_in_its_answer_adds_no_second_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError(SECRET)

    caplog.set_level(logging.ERROR)
    noted = Noted()
    assert [message["type"] for message in ask(app, noted)] == ["http.response.start"]
    assert noted.ended[0][0].status == 200


def test_a_request_that_nobody_waits_for_any_more_has_the_status_of_that() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        pass

    noted = Noted()
    assert ask(app, noted) == []
    assert noted.ended[0][0].status == 499


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("unable to perform operation on <TCPTransport>; the handler is closed"), 0),
        (RuntimeError(SECRET), 1),
    ],
)
def test_a_connection_that_was_cut_off_is_no_failure(
    error: Exception, told: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            raise error

    noted = Noted()
    scope = {"type": "http", "method": "GET", "headers": []}
    asyncio.run(Observed(answer, observer=noted)(scope, send, send))  # type: ignore[arg-type]
    ((visit, _),) = noted.ended
    assert visit.refused == (None if told else "gone")
    assert len(caplog.records) == told
    assert SECRET not in caplog.text


def test_headers_are_added_once_and_those_of_the_software_are_left_out() -> None:
    headers = complete([(b"Server", b"BentoML"), (b"cache-control", b"max-age=5")], "abc")
    names = [name for name, _ in headers]
    assert b"Server" not in names
    assert names.count(b"cache-control") == 1
    assert (b"x-request-id", b"abc") in headers
    assert (b"x-content-type-options", b"nosniff") in headers


def test_the_observer_is_closed_when_the_worker_ends() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        pass

    noted = Noted()
    ask(app, noted, {"type": "lifespan"})
    assert noted.closed
    assert noted.begun == 0
