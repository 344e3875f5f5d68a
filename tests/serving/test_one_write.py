from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dynaserve.serving.one_write import HEAD_BYTES, JOINED_BYTES, OneWrite


class Transport:
    """Notes what it is told to do."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.closing = False

    def write(self, data: bytes) -> None:
        self.done.append(bytes(data))

    def close(self) -> None:
        self.done.append("closed")

    def abort(self) -> None:
        self.closing = True

    def is_closing(self) -> bool:
        return self.closing

    def get_write_buffer_size(self) -> int:
        return 7

    def get_extra_info(self, name: str) -> str:
        return f"the {name}"


def done_by(work: Callable[[OneWrite, Transport], Awaitable[None]]) -> list[Any]:
    async def run() -> list[Any]:
        transport = Transport()
        await work(OneWrite(transport, asyncio.get_running_loop()), transport)  # type: ignore[arg-type]
        await asyncio.sleep(0)
        return transport.done

    return asyncio.run(run())


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_head_and_what_follows_it_are_written_in_one(kind: type) -> None:
    async def work(one: OneWrite, transport: Transport) -> None:
        one.write(b"head ")
        assert transport.done == []
        one.write(kind(b"body"))
        assert transport.done == [b"head body"]

    assert done_by(work) == [b"head body"]


def test_a_head_that_nothing_follows_is_written_in_the_same_turn() -> None:
    async def work(one: OneWrite, transport: Transport) -> None:
        one.write(b"head")
        await asyncio.sleep(0)
        assert transport.done == [b"head"]
        one.write(b"more")

    assert done_by(work) == [b"head", b"more"]


def test_many_parts_keep_their_order() -> None:
    parts = [bytes([n]) * size for n, size in enumerate((1, 5000, 3, 3, 2 * JOINED_BYTES, 1, 1, 1))]

    async def work(one: OneWrite, transport: Transport) -> None:
        for part in parts:
            one.write(part)

    assert b"".join(done_by(work)) == b"".join(parts)


@pytest.mark.parametrize(
    ("first", "second", "writes"),
    [
        (HEAD_BYTES, JOINED_BYTES, 1),
        (HEAD_BYTES, JOINED_BYTES + 1, 2),
        (HEAD_BYTES + 1, JOINED_BYTES, 2),
    ],
)
def test_what_is_long_is_neither_held_nor_copied(first: int, second: int, writes: int) -> None:
    async def work(one: OneWrite, transport: Transport) -> None:
        one.write(bytes(first))
        one.write(bytes(second))

    assert len(done_by(work)) == writes


def test_what_is_held_counts_as_not_yet_written() -> None:
    async def work(one: OneWrite, transport: Transport) -> None:
        assert one.get_write_buffer_size() == 7
        one.write(b"head")
        assert one.get_write_buffer_size() == 11
        await asyncio.sleep(0)
        assert one.get_write_buffer_size() == 7

    done_by(work)


def test_closing_writes_what_is_held_first() -> None:
    async def work(one: OneWrite, transport: Transport) -> None:
        one.write(b"head")
        one.close()

    assert done_by(work) == [b"head", "closed"]


def test_nothing_is_written_to_a_connection_that_was_cut_off() -> None:
    async def work(one: OneWrite, transport: Transport) -> None:
        one.write(b"head")
        one.abort()

    assert done_by(work) == []


def test_all_else_is_the_transports() -> None:
    async def work(one: OneWrite, transport: Transport) -> None:
        assert one.get_extra_info("socket") == "the socket"

    done_by(work)
