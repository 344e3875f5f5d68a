"""Bodies on the wire: read whole within a limit, and compressed where the other side says so.

The limit holds for what is unpacked, and is checked as it grows, so that a small body which
unpacks to gigabytes never does. Nothing here may look inside a body.
"""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable

from starlette.requests import Request

from dynaserve.serving.refused import MediaTypeError, RefusedError, TooLargeError
from dynaserve.serving.requests import Limits, declared

MEDIA_TYPES = ("", "application/json", "application/octet-stream")
"""What a web page cannot send across sites without asking; Triton's client names none."""
UNPACKED: dict[str, int | None] = {
    "": None,
    "identity": None,
    "gzip": 16 + zlib.MAX_WBITS,
    "deflate": zlib.MAX_WBITS,
}
"""Coding -> window bits with which zlib reads it; None is as it is."""
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda body: gzip.compress(body, 1, mtime=0),
    "deflate": lambda body: zlib.compress(body, 1),
}
PART_BYTES = 2**20
"""Most that is unpacked in one go."""


async def read_body(request: Request, limits: Limits) -> bytes | bytearray:
    """Return the body of a request, unpacked.

    Raises
    ------
    MediaTypeError
        It says that it is something else than JSON and tensors, or packed by another coding than
        gzip and deflate (zlib's format, RFC 1950).
    TooLargeError
        It is longer than ``limits.max_bytes``, packed or unpacked; the rest stays unread.
    RefusedError
        It is not what its coding says.
    """
    headers = request.headers
    if headers.get("content-type", "").split(";")[0].strip().lower() not in MEDIA_TYPES:
        raise MediaTypeError(
            "send JSON, or JSON and raw tensors, with the header "
            "'content-type: application/json' or 'content-type: application/octet-stream'"
        )
    coding = headers.get("content-encoding", "").strip().lower()
    if coding not in UNPACKED:
        raise MediaTypeError("send the body as it is, or with the content-encoding gzip or deflate")
    if declared(headers) > limits.max_bytes:
        raise too_long(limits)
    chunks: AsyncIterator[bytes] = request.stream()
    if (window_bits := UNPACKED[coding]) is not None:
        chunks = unpacked(within(chunks, limits), window_bits)
    return await joined(chunks, limits)


async def within(chunks: AsyncIterator[bytes], limits: Limits) -> AsyncIterator[bytes]:
    """Yield chunks until there are too many bytes."""
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > limits.max_bytes:
            raise too_long(limits)
        if chunk:
            yield chunk


def too_long(limits: Limits) -> TooLargeError:
    """Return what to say to a body of too many bytes."""
    return TooLargeError(f"the body is longer than {limits.max_bytes} bytes; {limits.advice}")


async def unpacked(chunks: AsyncIterator[bytes], window_bits: int) -> AsyncIterator[bytes]:
    """Yield what chunks unpack to, in parts of ``PART_BYTES`` at most, worked out on a thread."""
    stream = zlib.decompressobj(window_bits)
    async for chunk in chunks:
        if stream.eof:
            raise RefusedError("something follows the packed body")
        rest, more = chunk, True
        while more:
            try:
                part = await asyncio.to_thread(stream.decompress, rest, PART_BYTES)
            except zlib.error:
                raise RefusedError("the body is not what its content-encoding says") from None
            yield part
            rest = stream.unconsumed_tail
            # A full part may leave more to come of what was taken in already.
            more = bool(rest) or len(part) == PART_BYTES
        if stream.unused_data:
            raise RefusedError("something follows the packed body")
    if not stream.eof:
        raise RefusedError("the packed body ends too early")


async def joined(chunks: AsyncIterator[bytes], limits: Limits) -> bytes | bytearray:
    """Return chunks in one piece, unless they are too many bytes; a lone one is not copied."""
    body: bytes | bytearray = b""
    async for chunk in chunks:
        if len(body) + len(chunk) > limits.max_bytes:
            raise too_long(limits)
        if not body:
            body = chunk
        elif chunk:
            if not isinstance(body, bytearray):
                body = bytearray(body)
            body += chunk
    return body


async def packed(body: bytes, accepted: str) -> tuple[bytes, dict[str, str]]:
    """Return an answer as its client wants it, with the header that says how.

    It is packed for a client that accepts gzip or deflate and nothing else, as one does that asks
    for it. A list of several is what HTTP libraries send unasked: packing tensors costs more time
    than it saves on most networks.
    """
    coding = accepted.strip().lower()
    if coding not in PACKERS:
        return body, {}
    return await asyncio.to_thread(PACKERS[coding], body), {"content-encoding": coding}
