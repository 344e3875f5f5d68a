from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from uvicorn import config

from dynaserve.serving import connections

LARGE = 20 * 2**20
HEAD = b"GET / HTTP/1.1\r\nhost: x\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["path"] == "/slow":
        await asyncio.sleep(0.5)
    body = bytes(LARGE) if scope["path"] == "/large" else b"ok"
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def reading(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await app(scope, receive, send)


@asynccontextmanager
async def serving(served: Any = app, keep_alive: int = 60) -> AsyncIterator[int]:
    config = uvicorn.Config(
        served, port=0, log_level="critical", lifespan="off", timeout_keep_alive=keep_alive
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await task


@pytest.fixture(autouse=True)
def prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(config.HTTP_PROTOCOLS, "auto", "")
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    connections.install()


async def exchange(port: int, *parts: bytes, pause: float = 0.0) -> bytes:
    """Send parts with pauses between them; return what comes until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number, part in enumerate(parts):
        await asyncio.sleep(pause if number else 0)
        writer.write(part)
    try:
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


def run(*parts: bytes, pause: float = 0.0, served: Any = app) -> bytes:
    async def ask() -> bytes:
        async with serving(served) as port:
            return await exchange(port, *parts, pause=pause)

    return asyncio.run(ask())


@pytest.mark.parametrize("parts", [(), (b"G",), (HEAD,), (HEAD, b"x-a: b\r\n", b"x-b: c\r\n")])
def test_a_connection_that_brings_no_whole_head_is_closed(parts: tuple[bytes, ...]) -> None:
    assert run(*parts, pause=0.09) == b""


def test_a_whole_request_is_answered_and_the_next_head_may_not_drag_on_either() -> None:
    answer = run(HEAD + b"\r\n", HEAD, b"x-a: b\r\n", b"x-b: c\r\n", pause=0.09)
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"\r\n\r\nok")


def test_an_answer_may_take_longer_than_a_head() -> None:
    request = HEAD.replace(b"GET /", b"GET /slow") + b"connection: close\r\n\r\n"
    assert run(request).endswith(b"ok")


def test_slow_clients_keep_nobody_else_waiting() -> None:
    async def ask() -> list[bytes]:
        async with serving() as port:
            slow = [asyncio.create_task(exchange(port, HEAD)) for _ in range(200)]
            await asyncio.sleep(0)
            request = HEAD + b"connection: close\r\n\r\n"
            answers = [await exchange(port, request) for _ in range(20)]
            assert set(await asyncio.gather(*slow)) == {b""}
            return answers

    assert all(answer.endswith(b"ok") for answer in asyncio.run(ask()))


LARGE_REQUEST = HEAD.replace(b"GET /", b"GET /large")
CLOSING = b"connection: close\r\n"


async def taken(port: int, request: bytes, pauses: list[float]) -> int:
    """Ask, read 256 KiB before each pause, and then the rest; return how many bytes came."""
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        # As little as may be is kept at this end, so that the server sees who reads and who not.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 2**10)
        client.setblocking(False)
        await loop.sock_connect(client, ("127.0.0.1", port))
        await loop.sock_sendall(client, request)
        count = 0
        try:
            for pause in pauses:
                part = 0
                while part < 256 * 2**10 and (got := len(await loop.sock_recv(client, 64 * 2**10))):
                    part += got
                count += part
                await asyncio.sleep(pause)
            while got := len(await asyncio.wait_for(loop.sock_recv(client, 2**20), 20)):
                count += got
        except ConnectionError:
            pass
        return count


@pytest.mark.parametrize("headers", [b"", CLOSING], ids=["kept", "to be closed"])
def test_a_client_that_does_not_read_its_answer_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, headers: bytes
) -> None:
    monkeypatch.setattr(connections, "READ_SECONDS", 0.2)

    async def ask() -> int:
        async with serving(keep_alive=1) as port:
            return await taken(port, LARGE_REQUEST + headers + b"\r\n", [0.01, 1.5])

    assert asyncio.run(ask()) < LARGE


@pytest.mark.parametrize("headers", [b"", CLOSING], ids=["kept", "to be closed"])
def test_a_client_that_reads_slowly_but_reads_gets_all_of_its_answer(
    monkeypatch: pytest.MonkeyPatch, headers: bytes
) -> None:
    monkeypatch.setattr(connections, "READ_SECONDS", 1.0)

    async def ask() -> int:
        async with serving(keep_alive=1) as port:
            # For four times as long as a connection is kept, and as one may not read.
            return await taken(port, LARGE_REQUEST + headers + b"\r\n", [0.1] * 40)

    assert asyncio.run(ask()) > LARGE


def test_what_the_kernel_has_taken_but_the_client_has_not_is_told() -> None:
    async def ask() -> list[int]:
        found: list[int] = []

        async def opened(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            found.append(connections.untaken(writer.transport))  # type: ignore[arg-type]
            writer.write(bytes(LARGE))
            await asyncio.sleep(0.1)
            found.append(connections.untaken(writer.transport))  # type: ignore[arg-type]
            found.append(writer.transport.get_write_buffer_size())
            writer.transport.abort()

        async with await asyncio.start_server(opened, "127.0.0.1", 0) as server:
            with socket.create_connection(server.sockets[0].getsockname()):
                for _ in range(2000):
                    await asyncio.sleep(0.01)
                    if len(found) == 3:
                        break
        return found

    before, everywhere, here = asyncio.run(ask())
    assert before == 0
    assert here < everywhere < LARGE


def cut_off(*parts: bytes) -> bool:
    """Whether the server closes a connection before it has answered what comes on it."""

    async def ask() -> bytes:
        async with serving() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            got = b""
            try:
                for part in parts:
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0)
                got = await asyncio.wait_for(reader.read(), 20)
            except ConnectionError:
                pass
            writer.close()
            return got

    return asyncio.run(ask()) == b""


LINES = b"a: b\r\n" * 20_000
CHUNKED = HEAD.replace(b"GET", b"POST") + b"transfer-encoding: chunked\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        (HEAD, *[LINES] * 5),
        (HEAD + b"a: ", *[b"x" * 100_000] * 5),
        (b"GET /", *[b"x" * 100_000] * 5),
        (
            HEAD.replace(b"GET /", b"POST /slow"),
            b"transfer-encoding: chunked\r\n\r\n0\r\n",
            *[LINES] * 5,
        ),
        (HEAD.replace(b"GET /", b"GET /slow") + b"\r\n", (HEAD + b"\r\n") * 100),
    ],
    ids=["headers", "one header", "path", "trailers", "pipelined"],
)
def test_more_than_a_request_needs_is_cut_off_unanswered(parts: tuple[bytes, ...]) -> None:
    assert cut_off(*parts)


def test_a_body_of_the_smallest_chunks_is_no_more_than_a_request_needs() -> None:
    chunks = b"1\r\nx\r\n" * 50_000
    request = CHUNKED + b"connection: close\r\n\r\n" + chunks + b"0\r\n\r\n"
    assert run(request, served=reading).endswith(b"ok")


def test_trailers_are_no_headers() -> None:
    seen: list[Any] = []

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        await reading(scope, receive, send)
        seen.extend(scope["headers"])

    request = CHUNKED + b"connection: close\r\n\r\n1\r\nx\r\n0\r\nx-api-key: mine\r\n\r\n"
    assert run(request, served=noting).endswith(b"ok")
    assert (b"host", b"x") in seen
    assert b"x-api-key" not in dict(seen)
