from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dynaserve.serving.bounded import Bounded
from dynaserve.serving.refusals import refusal
from dynaserve.serving.refused import RefusedError
from dynaserve.serving.visit import KEY, Visit, visit_of

POST = {"type": "http", "path": "/", "headers": [(b"content-length", b"5")]}
GET: dict[str, Any] = {"type": "http", "path": "/", "headers": []}
WHOLE = {"type": "http.request", "body": b"12345", "more_body": False}
PART = {"type": "http.request", "body": b"1", "more_body": True}


class Client:
    """One request to an app, with what it gets."""

    def __init__(self, scope: dict[str, Any], *messages: dict[str, Any]) -> None:
        self.scope = dict(scope)
        self.messages = list(messages)
        self.sent: list[Any] = []

    async def receive(self) -> Any:
        if not self.messages:
            await asyncio.Event().wait()
        return self.messages.pop(0)

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    async def ask(self, app: Any) -> tuple[int, Any]:
        await app(self.scope, self.receive, self.send)
        return self.sent[0]["status"], json.loads(self.sent[1]["body"])


def limited(
    app: Callable[..., Awaitable[None]],
    max_concurrent: int = 2,
    seconds: float = 30,
    body_seconds: float = 30,
) -> Bounded:
    return Bounded(app, max_concurrent=max_concurrent, seconds=seconds, body_seconds=body_seconds)


async def read_then_answer(scope: Any, receive: Any, send: Any) -> None:
    while scope["headers"] and (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b'"done"'})


async def never(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await asyncio.Event().wait()


async def half(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await asyncio.Event().wait()


def test_a_request_in_time_passes_unchanged() -> None:
    client = Client(POST, PART, WHOLE)
    assert asyncio.run(client.ask(limited(read_then_answer))) == (200, "done")
    assert visit_of(client.scope).refused is None


def test_a_body_that_does_not_come_whole_is_408() -> None:
    client = Client(POST, PART, PART)
    status, answer = asyncio.run(client.ask(limited(read_then_answer, body_seconds=0.05)))
    assert (status, answer["error"]) == (
        408, "the body did not come in 0.05 seconds; send it again",
    )  # fmt: skip
    assert visit_of(client.scope).refused == "slow"


@pytest.mark.parametrize(("scope", "messages"), [(POST, [WHOLE]), (GET, [])])
def test_what_takes_too_long_is_504_once_the_request_is_whole(
    scope: dict[str, Any], messages: list[Any]
) -> None:
    async def work(scope: Any, receive: Any, send: Any) -> None:
        if messages:
            await receive()
        await asyncio.Event().wait()

    client = Client(scope, *messages)
    app = limited(work, seconds=0.05, body_seconds=0.01)
    status, answer = asyncio.run(client.ask(app))
    assert (status, answer["error"]) == (504, "not done in 0.05 seconds; send less at once")
    assert visit_of(client.scope).refused == "late"


def test_an_answer_that_has_begun_is_cut_off_not_mixed_with_another() -> None:
    client = Client(GET)
    asyncio.run(limited(half, seconds=0.05)(client.scope, client.receive, client.send))
    assert [message["type"] for message in client.sent] == ["http.response.start"]


def test_more_requests_than_may_be_are_503_and_those_before_go_on() -> None:
    go: list[asyncio.Event] = []

    async def held(scope: Any, receive: Any, send: Any) -> None:
        try:
            await receive()
        except RefusedError as error:
            await refusal(scope, error)(scope, receive, send)
            return
        await go[0].wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'"done"'})

    async def send() -> tuple[Any, list[Any], Any]:
        go.append(asyncio.Event())
        app = limited(held)
        first = [asyncio.create_task(Client(POST, WHOLE).ask(app)) for _ in range(2)]
        await asyncio.sleep(0)
        third = Client(POST, WHOLE)
        refused = await third.ask(app)
        assert dict(third.sent[0]["headers"])[b"retry-after"] == b"1"
        assert visit_of(third.scope).refused == "busy"
        go[0].set()
        answered = await asyncio.gather(*first)
        return refused, answered, await Client(POST, WHOLE).ask(app)

    refused, answered, after = asyncio.run(send())
    assert refused[0] == 503
    assert "is answering 2 requests, the most it takes" in refused[1]["error"]
    assert answered == [(200, "done")] * 2
    assert after == (200, "done")


def test_a_request_that_fails_or_is_cut_off_makes_room_again() -> None:
    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError

    async def send() -> int:
        app = limited(fails, max_concurrent=1)
        for _ in range(3):
            client = Client(GET)
            with pytest.raises(RuntimeError):
                await app(client.scope, client.receive, client.send)
        app.app = never
        for _ in range(3):
            app.seconds = 0.01
            assert (await Client(POST, WHOLE).ask(app))[0] == 504
        return app.pending

    assert asyncio.run(send()) == 0


def test_health_is_told_however_much_there_is_to_do() -> None:
    app = Bounded(
        read_then_answer, max_concurrent=1, seconds=30, body_seconds=30, exempt={"/livez"}
    )
    app.pending = 1  # by somebody
    assert asyncio.run(Client(GET | {"path": "/livez"}).ask(app))[0] == 200
    assert asyncio.run(Client(GET | {"path": "/predict"}).ask(app))[0] == 503


def test_the_slow_requests_of_one_client_take_no_place_from_others() -> None:
    async def send() -> tuple[Any, Any]:
        app = limited(read_then_answer, max_concurrent=2)
        slow = [Client(POST | {KEY: Visit("1", client="slow")}) for _ in range(2)]
        held = [asyncio.create_task(app(each.scope, each.receive, each.send)) for each in slow]
        await asyncio.sleep(0)
        more = await Client(POST | {KEY: Visit("2", client="slow")}, WHOLE).ask(app)
        other = await Client(POST | {KEY: Visit("3", client="other")}, WHOLE).ask(app)
        for task in held:
            task.cancel()
        await asyncio.gather(*held, return_exceptions=True)
        assert not app.arriving
        return more, other

    more, other = asyncio.run(send())
    assert more[0] == 503
    assert "is receiving of this client 2 requests, the most it takes" in more[1]["error"]
    assert other == (200, "done")


def test_what_is_no_request_has_no_limits() -> None:
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    bounded = limited(app, max_concurrent=1)
    client = Client({"type": "lifespan"})
    asyncio.run(bounded(client.scope, client.receive, client.send))
    assert seen == ["lifespan"]
