from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from dynaserve.serving.inference.body import PART_BYTES, packed, read_body
from dynaserve.serving.refused import MediaTypeError, RefusedError, TooLargeError
from dynaserve.serving.requests import Limits

LIMITS = Limits(max_rows=8, max_bytes=1000, max_lists=None)
PACK = {"gzip": gzip.compress, "deflate": zlib.compress}


class Sent:
    """Chunks of a request, and how many of them were taken."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self.chunks = list(chunks)
        self.taken = 0

    async def __call__(self) -> dict[str, object]:
        chunk = self.chunks[self.taken]
        self.taken += 1
        more = self.taken < len(self.chunks)
        return {"type": "http.request", "body": chunk, "more_body": more}


def read(
    chunks: Iterable[bytes] | Sent, limits: Limits = LIMITS, **headers: str
) -> bytes | bytearray:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    sent = chunks if isinstance(chunks, Sent) else Sent(chunks)
    request = Request({"type": "http", "method": "POST", "headers": raw}, sent)
    return asyncio.run(read_body(request, limits))


def pieces(body: bytes, size: int) -> list[bytes]:
    return [body[start : start + size] for start in range(0, len(body), size)] or [b""]


@given(st.binary(max_size=1000), st.integers(1, 400))
def test_a_body_comes_whole_in_any_chunks(body: bytes, size: int) -> None:
    assert read(pieces(body, size)) == body


def test_one_chunk_is_not_copied() -> None:
    body = bytes(range(200))
    assert read([body]) is body


@given(st.binary(max_size=1000), st.integers(1, 400), st.sampled_from(sorted(PACK)))
def test_a_packed_body_comes_unpacked(body: bytes, size: int, coding: str) -> None:
    limits = Limits(max_rows=8, max_bytes=1100, max_lists=None)  # of noise it is the longer one
    assert read(pieces(PACK[coding](body), size), limits, content_encoding=coding) == body


@pytest.mark.parametrize("coding", PACK)
@pytest.mark.parametrize("size", [PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES])
def test_a_body_of_many_parts_comes_unpacked(coding: str, size: int) -> None:
    body = b"ab" * (size // 2) + b"c" * (size % 2)
    limits = Limits(max_rows=8, max_bytes=size, max_lists=None)
    assert read([PACK[coding](body)], limits, content_encoding=coding) == body


def test_the_limit_is_exact_and_the_rest_stays_unread() -> None:
    assert len(read([b"x" * 500, b"x" * 500])) == 1000
    sent = Sent([b"x" * 500] * 100)
    with pytest.raises(TooLargeError, match=r"longer than 1000 bytes; send fewer rows \(at most 8"):
        read(sent)
    assert sent.taken == 3


@pytest.mark.parametrize("coding", PACK)
def test_a_bomb_is_refused_before_it_unpacks(coding: str) -> None:
    bomb = PACK[coding](bytes(50 * 2**20))
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError):
            read([bomb], Limits(8, 2**20, None), content_encoding=coding)
        assert tracemalloc.get_traced_memory()[1] < 8 * PART_BYTES
    finally:
        tracemalloc.stop()


def test_a_bomb_of_bombs_stays_a_packed_body() -> None:
    inner = gzip.compress(bytes(100))
    assert read([gzip.compress(inner)], content_encoding="gzip") == inner


def test_packed_bytes_that_unpack_to_nothing_count_too() -> None:
    block, last, checksum = b"\x00\x00\x00\xff\xff", b"\x01\x00\x00\xff\xff", b"\x00\x00\x00\x01"
    for blocks, fits in ((100, True), (300, False)):
        packed_nothing = b"\x78\x01" + block * blocks + last + checksum
        assert zlib.decompress(packed_nothing) == b""
        if fits:
            assert read(pieces(packed_nothing, 100), content_encoding="deflate") == b""
        else:
            with pytest.raises(TooLargeError):
                read(pieces(packed_nothing, 100), content_encoding="deflate")


@pytest.mark.parametrize("coding", PACK)
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda body: body[:-1], "ends too early"),
        (lambda _: b"", "ends too early"),
        (lambda body: body + b"4711", "something follows"),
        (lambda body: body + body, "something follows"),
        (lambda body: b"4711" + body, "not what its content-encoding says"),
        (lambda body: body[:-5] + b"4711" + body[-1:], "not what its content-encoding says"),
    ],
)
def test_what_is_packed_wrong_is_refused(coding: str, spoil: object, message: str) -> None:
    body = spoil(PACK[coding](b"something to pack"))  # type: ignore[operator]
    for size in (1, len(body) or 1):
        with pytest.raises(RefusedError, match=message) as caught:
            read(pieces(body, size), content_encoding=coding)
        assert "4711" not in str(caught.value)


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "deflate,gzip", "4711"])
def test_other_codings_are_refused(coding: str) -> None:
    with pytest.raises(MediaTypeError, match="gzip or deflate") as caught:
        read([b"x"], content_encoding=coding)
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize("coding", ["", "identity", "Identity "])
def test_a_body_may_say_that_it_is_not_packed(coding: str) -> None:
    assert read([b"x"], content_encoding=coding) == b"x"


@pytest.mark.parametrize(
    ("media_type", "taken"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/octet-stream", True),
        ("text/plain", False),
        ("multipart/form-data; boundary=x", False),
        ("application/x-www-form-urlencoded", False),
        ("application/vnd.bentoml+pickle", False),
    ],
)
def test_what_a_form_of_a_web_page_can_send_is_refused(media_type: str, taken: bool) -> None:
    if taken:
        assert read([b"x"], content_type=media_type) == b"x"
    else:
        with pytest.raises(MediaTypeError, match="application/json"):
            read([b"x"], content_type=media_type)


@pytest.mark.parametrize(
    ("accepted", "unpack"), [("gzip", gzip.decompress), (" Deflate", zlib.decompress)]
)
def test_an_answer_is_packed_for_who_asks_for_nothing_else(accepted: str, unpack: object) -> None:
    body, headers = asyncio.run(packed(b"a" * 5000, accepted))
    assert len(body) < 100
    assert unpack(body) == b"a" * 5000  # type: ignore[operator]
    assert headers == {"content-encoding": accepted.strip().lower()}


@pytest.mark.parametrize("accepted", ["", "identity", "*", "gzip, deflate", "gzip;q=0", "br"])
def test_an_answer_is_not_packed_for_whoever_sends_a_librarys_list(accepted: str) -> None:
    body = b"a" * 5000
    sent, headers = asyncio.run(packed(body, accepted))
    assert sent is body
    assert headers == {}
