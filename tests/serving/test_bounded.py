from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dynaserve.serving import bounded as module
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


class Clock:
    """Seconds that pass when a test says so; the event loop keeps its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed = 0.0
        now = module.now
        monkeypatch.setattr(module, "now", lambda: now() + self.passed)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


class Crowd:
    """Requests that are on their way, each with one message that has come."""

    def __init__(self, app: Bounded) -> None:
        self.app = app
        self.tasks: list[asyncio.Task[tuple[int, Any]]] = []
        self.clients: list[Client] = []

    async def come(self, client: str | None, size: int = 1) -> None:
        part = PART | {"body": bytes(size)}
        one = Client(POST | {KEY: Visit("1", client=client)}, part)
        self.clients.append(one)
        self.tasks.append(asyncio.create_task(one.ask(self.app)))
        for _ in range(3):
            await asyncio.sleep(0)

    async def ended(self) -> dict[int, tuple[int, Any]]:
        """Return what those got that were ended, by number, and send the others away."""
        for _ in range(5):
            await asyncio.sleep(0)
        found = {at: task.result() for at, task in enumerate(self.tasks) if task.done()}
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        assert not self.app.moving
        assert (self.app.pending, self.app.bytes) == (0, 0)
        return found


async def ask_as(app: Bounded, client: str | None) -> tuple[int, Any]:
    return await Client(POST | {KEY: Visit("9", client=client)}, WHOLE).ask(app)


def test_the_slow_requests_of_one_client_take_no_place_from_others() -> None:
    async def send() -> tuple[Any, Any]:
        app = limited(read_then_answer, max_concurrent=2)
        crowd = Crowd(app)
        for _ in range(2):
            await crowd.come("slow")
        more, other = await ask_as(app, "slow"), await ask_as(app, "other")
        assert await crowd.ended() == {}
        return more, other

    more, other = asyncio.run(send())
    assert more[0] == 503
    assert "has 2 requests of this client on their way, the most it takes" in more[1]["error"]
    assert other == (200, "done")


@pytest.mark.parametrize("client", [None, "a"])
def test_the_slowest_request_gives_way_once_it_is_slow(clock: Clock, client: str | None) -> None:
    async def send() -> tuple[Any, Any, Any]:
        app = limited(read_then_answer, max_concurrent=3)
        crowd = Crowd(app)
        for size in (10**6, 10, 2 * 10**6):
            await crowd.come(client, size)
        clock.passed += 0.9
        early = await ask_as(app, client)
        clock.passed += 0.2
        late, ended = await ask_as(app, client), await crowd.ended()
        assert visit_of(crowd.clients[1].scope).refused == "busy"
        return early, late, ended

    early, late, ended = asyncio.run(send())
    assert early[0] == 503
    assert late == (200, "done")
    assert ended == {
        1: (503, {"error": "the server has room for faster requests only; come back later"})
    }


def test_who_brings_the_most_bytes_makes_room_by_his_slowest(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROOM_BYTES", 1000)
    monkeypatch.setattr(module, "HEAD_BYTES", 10)

    async def send() -> Any:
        app = limited(read_then_answer, max_concurrent=9)
        crowd = Crowd(app)
        for client, size in (("a", 300), ("b", 290), ("a", 200), ("c", 100)):
            await crowd.come(client, size)
        assert app.bytes == 930
        clock.passed += 10  # so that microseconds between them do not matter
        await crowd.come("b", 100)  # 1040, of which a's 520 are the most
        assert app.bytes == 830
        assert await ask_as(app, "d") == (200, "done")
        assert app.bytes == 830
        return await crowd.ended()

    assert {at: status for at, (status, _) in asyncio.run(send()).items()} == {2: 503}


def test_a_request_is_refused_whose_own_bytes_are_the_slowest_of_the_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "ROOM_BYTES", 1000)
    monkeypatch.setattr(module, "HEAD_BYTES", 10)

    async def refusing(scope: Any, receive: Any, send: Any) -> None:
        try:
            await read_then_answer(scope, receive, send)
        except RefusedError as error:
            await refusal(scope, error)(scope, receive, send)

    async def send() -> Any:
        crowd = Crowd(limited(refusing, max_concurrent=9))
        await crowd.come("a", 400)
        await crowd.come("b", 590)
        assert crowd.app.bytes == 410
        await crowd.come(None, 5000)
        return await crowd.ended()

    ended = asyncio.run(send())
    assert {at: status for at, (status, _) in ended.items()} == {1: 503, 2: 503}
    assert "as many bytes of requests as it has room for" in ended[1][1]["error"]


def test_what_is_answered_does_not_give_way_and_a_lone_request_may_be_any_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "ROOM_BYTES", 1000)
    monkeypatch.setattr(module, "HEAD_BYTES", 10)

    async def send() -> tuple[Any, Any]:
        app = limited(never)
        held = Client(POST, WHOLE | {"body": bytes(5000)})
        task = asyncio.create_task(held.ask(app))
        await asyncio.sleep(0)
        assert (app.pending, app.bytes) == (1, 5010)
        refused = await Client(POST, WHOLE).ask(app)
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        app.app = read_then_answer
        return refused, await Client(POST, WHOLE | {"body": bytes(5000)}).ask(app)

    refused, alone = asyncio.run(send())
    assert refused[0] == 503
    assert alone == (200, "done")


def test_who_leaves_in_the_midst_of_a_body_takes_no_place_among_the_whole() -> None:
    seen: list[str] = []

    async def leaving(scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive())["type"] == "http.request":
            pass
        seen.append(message["type"])
        await send({"type": "http.response.start", "status": 499, "headers": []})
        await send({"type": "http.response.body", "body": b'"gone"'})

    async def send() -> tuple[int, Any]:
        app = limited(leaving, max_concurrent=1)
        app.pending = 1  # by somebody
        return await Client(POST, PART, {"type": "http.disconnect"}).ask(app)

    assert asyncio.run(send()) == (499, "gone")
    assert seen == ["http.disconnect"]


def test_what_is_no_request_has_no_limits() -> None:
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    bounded = limited(app, max_concurrent=1)
    client = Client({"type": "lifespan"})
    asyncio.run(bounded(client.scope, client.receive, client.send))
    assert seen == ["lifespan"]


class Unread(Client):
    """A client that does not read its answer."""

    async def send(self, message: Any) -> None:
        await super().send(message)
        await asyncio.Event().wait()


@pytest.mark.parametrize("client", [None, "slow"])
def test_clients_that_do_not_read_keep_nobody_else_from_an_answer(
    clock: Clock, client: str | None
) -> None:
    async def send() -> Any:
        app = limited(read_then_answer, max_concurrent=2, seconds=0.05)
        unread = [Unread(POST | {KEY: Visit("1", client=client)}, WHOLE) for _ in range(2)]
        tasks = [asyncio.create_task(each.ask(app)) for each in unread]
        await asyncio.sleep(0.1)  # longer than a request may take
        assert not any(task.done() for task in tasks)
        assert app.pending == 0
        other = await ask_as(app, "other")
        early = await ask_as(app, client)
        clock.passed += 1.1
        late = await ask_as(app, client)
        await asyncio.sleep(0.05)
        gone = [task.done() for task in tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (app.pending, app.bytes, app.moving) == (0, 0, {})
        return other, early[0], late, sum(gone)

    assert asyncio.run(send()) == ((200, "done"), 503, (200, "done"), 1)


def test_an_answer_without_room_for_it_is_cut_off_and_costs_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "ROOM_BYTES", 1000)
    monkeypatch.setattr(module, "HEAD_BYTES", 10)

    async def large(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(2000)})

    async def send() -> Any:
        app = limited(large)
        alone = Client(GET)
        await app(alone.scope, alone.receive, alone.send)
        app.bytes = 900  # of others, none of them on its way
        beside = Client(GET)
        await app(beside.scope, beside.receive, beside.send)
        return len(alone.sent), len(beside.sent), app.bytes, app.pending

    assert asyncio.run(send()) == (2, 1, 900, 0)
