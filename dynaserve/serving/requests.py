"""What may enter the model: the body of a request as an array that it was made for, or a refusal.

BentoML's own array types reshape, pass existing arrays unchecked and let NaN in, and pydantic
logs the values that it refuses; so rows are read here. Every refusal names the place and what
would be right, and quotes nothing of the request.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray
from starlette.requests import Request
from typing_extensions import Self

from dynaserve.serving.refused import MediaTypeError, RefusedError, TooLargeError

T = TypeVar("T")

NUMBERS: dict[str, set[type]] = {"f": {int, float}, "i": {int}, "u": {int}}
"""The JSON types that each kind of model input takes; booleans are not among them."""

NUMBER_BYTES = 32
"""More than a number takes in JSON: 24 characters of a float64, and what separates it."""
MESSAGE_BYTES = 4096
MOST_BYTES = 64 * 2**20
LARGE_BYTES = 256 * 2**10
"""From which on reading JSON takes milliseconds."""

ONE_OBJECT = 'send one object with the one field "inputs": {"inputs": [[...], ...]}'

JSON_NAMES = {
    bool: "a boolean",
    dict: "an object",
    float: "a fraction",
    int: "a number",
    list: "a list",
    str: "a string",
    type(None): "null",
}


@dataclass(frozen=True)
class Unread:
    """The body of a request as it comes in, with what its sender says it is."""

    chunks: AsyncIterator[bytes]
    media_type: str
    declared: int = 0
    """Bytes that its sender says it has; 0 if it does not say."""
    coding: str = ""
    """How its sender says it is packed."""
    scope: MutableMapping[str, Any] = field(default_factory=dict, repr=False)
    """Of the request, in which its visit is."""

    @classmethod
    def of(cls, request: Request) -> Self:
        """Return the body of a request, unread."""
        media_type = request.headers.get("content-type", "application/json")
        coding = request.headers.get("content-encoding", "").strip().lower()
        sent = declared(request.headers)
        return cls(request.stream(), media_type, sent, coding, request.scope)


def declared(headers: Mapping[str, str]) -> int:
    """Return how many bytes a request says its body has; 0 if it does not say."""
    length = headers.get("content-length", "")
    return int(length) if length.isdecimal() and len(length) < 20 else 0


@dataclass(frozen=True)
class Limits:
    """How much one request may bring."""

    max_rows: int
    max_bytes: int
    max_lists: int | None
    """Opening brackets in as many rows as there may be; None where a row may hold any number."""
    max_columns: int | None = None
    """Numbers in a row, where the model leaves its size open."""

    @property
    def advice(self) -> str:
        """What to say to a body of too many bytes."""
        return f"send fewer rows (at most {self.max_rows}), or shorter numbers"

    @classmethod
    def of(
        cls,
        shape: tuple[int | None, ...],
        *,
        max_rows: int,
        max_bytes: int | None = None,
        max_columns: int | None = None,
    ) -> Limits:
        """Return the limits for rows of ``shape``, with None where any size will do.

        Without ``max_bytes``, the body may have what the rows need in JSON: 32 bytes for each
        number, no more than 64 MiB, or 64 MiB where the size of a row is open.
        """
        known = [size for size in shape if size is not None]
        if max_bytes is None:
            needed = max_rows * math.prod(known) * NUMBER_BYTES + MESSAGE_BYTES
            max_bytes = MOST_BYTES if len(known) < len(shape) else min(needed, MOST_BYTES)
        outer = shape[:-1]
        # The list of rows, then in each row itself and the lists at every depth inside it.
        inside = sum(math.prod(known[:depth]) for depth in range(len(shape)))
        max_lists = None if None in outer else 1 + max_rows * inside
        return cls(max_rows, max_bytes, max_lists, max_columns if None in shape else None)


def read_inputs(body: bytes | bytearray, limits: Limits) -> Any:
    """Return the value of ``inputs`` in a JSON body, itself unchecked.

    Raises
    ------
    TooLargeError
        The body holds more lists than the rows may have, which would fill memory before they are
        counted.
    RefusedError
        The body is not one JSON object with the one field ``inputs``.
    """
    if limits.max_lists is not None and body.count(b"[") > limits.max_lists:
        raise TooLargeError(
            f"the body holds more lists than {limits.max_rows} rows do; send at most "
            f"{limits.max_rows} rows at once"
        )
    if body.count(b"{") > 1:  # as many objects as the body has room for would fill memory too
        raise RefusedError(ONE_OBJECT)
    document = parse(
        body,
        '(NaN, Infinity and numbers past 1.8e308 are not JSON); send {"inputs": [[...], ...]}',
    )
    if not isinstance(document, dict) or set(document) != {"inputs"}:
        raise RefusedError(ONE_OBJECT)
    return document["inputs"]


async def read_body(request: Unread, max_bytes: int, advice: str) -> bytearray:
    """Return the body of a JSON request, unparsed.

    Raises
    ------
    MediaTypeError
        The sender says that the body is something else.
    TooLargeError
        The body is longer than ``max_bytes``, and the rest of it stays unread; the message ends
        with ``advice``.
    """
    too_large = f"the body is longer than {max_bytes} bytes; {advice}"
    if request.declared > max_bytes:
        raise TooLargeError(too_large)
    if request.media_type.split(";")[0].strip().lower() != "application/json":
        raise MediaTypeError("send JSON, with the header 'content-type: application/json'")
    if request.coding not in ("", "identity"):
        raise MediaTypeError("send the body as it is, not packed")
    body = bytearray()
    async for chunk in request.chunks:
        body += chunk
        if len(body) > max_bytes:
            raise TooLargeError(too_large)
    return body


async def off_loop_if_large(body: bytes | bytearray, work: Callable[[], T]) -> T:
    """Return what ``work`` makes of a body; on a thread if it is large.

    Others wait all the same while orjson or numpy turn it into objects: both hold the
    interpreter's lock for as long as that takes, about 0.1 s for a million numbers. They wait no
    longer for the checks that follow, in which a thread gives way every few milliseconds.
    """
    return await asyncio.to_thread(work) if len(body) > LARGE_BYTES else work()


def parse(body: bytes | bytearray, advice: str) -> Any:
    """Return a JSON document; a refusal says where it is malformed, then ``advice``."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RefusedError(
            f"malformed JSON at line {error.lineno}, column {error.colno} {advice}"
        ) from None


def read_rows(
    inputs: Any,
    dtype: np.dtype[Any],
    shape: tuple[int | None, ...],
    *,
    max_rows: int,
    max_columns: int | None = None,
) -> NDArray[Any]:
    """Return rows of JSON values as an array of the model's dtype.

    Parameters
    ----------
    inputs : list
        What JSON gave: nested lists of numbers, one entry per row.
    dtype : numpy.dtype
        Floating or integer; what the model computes in.
    shape : tuple of int or None
        Shape of one row. None is a size that every row of one request shares.
    max_rows : int
        Most rows in one request.
    max_columns : int or None
        Most numbers in a row.

    Returns
    -------
    ndarray (n, *shape)
        Finite values, ``1 <= n <= max_rows``.

    Raises
    ------
    TooLargeError
        There are too many rows, or numbers in them.
    RefusedError
        Anything else is wrong with the rows; the message names the first place.
    """
    if not isinstance(inputs, list):
        raise RefusedError(f'"inputs" must be a list of rows, not {named(inputs)}')
    if not inputs:
        raise RefusedError('"inputs" holds no rows; send at least one')
    if len(inputs) > max_rows:
        raise TooLargeError(f'"inputs" holds {len(inputs)} rows; send at most {max_rows} at once')
    shape = resolved(inputs[0], shape)
    require_columns(shape, max_columns)
    for number, row in enumerate(inputs):
        check(row, shape, NUMBERS[dtype.kind], (number,))
    return cast(inputs, dtype)


def resolved(row: Any, shape: tuple[int | None, ...]) -> tuple[int, ...]:
    """Return ``shape`` with its open sizes filled in from a row; ``check`` finds what is off."""
    sizes = []
    for size in shape:
        length = len(row) if isinstance(row, list) else 0
        sizes.append(length if size is None else size)
        row = row[0] if length else None
    return tuple(sizes)


def require_columns(shape: tuple[int, ...], max_columns: int | None) -> None:
    """Refuse rows of more numbers than a row may have."""
    if max_columns is not None and math.prod(shape) > max_columns:
        raise TooLargeError(f"a row holds more than {max_columns} numbers; send shorter rows")


def check(value: Any, shape: tuple[int, ...], numbers: set[type], place: tuple[int, ...]) -> None:
    """Refuse a value that is not nested lists of ``shape`` holding ``numbers``."""
    if not shape:
        if type(value) not in numbers:
            raise RefusedError(f"{at(place)} is {named(value)}; {needed(numbers)}")
        return
    if not isinstance(value, list):
        raise RefusedError(f"{at(place)} is {named(value)}, not a list of {shape[0]} values")
    if len(value) != shape[0]:
        raise RefusedError(f"{at(place)} holds {len(value)} values instead of {shape[0]}")
    if len(shape) == 1 and set(map(type, value)) <= numbers:
        return
    for index, item in enumerate(value):
        check(item, shape[1:], numbers, (*place, index))


def cast(inputs: list[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return checked rows in ``dtype``; refuse the values that it cannot hold."""
    if dtype.kind == "f":
        with suppress(OverflowError), np.errstate(over="ignore"):
            rows = np.array(inputs, dtype=np.float64).astype(dtype)
            if np.isfinite(rows).all():
                return rows
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    low, high = np.array([limits.min, limits.max], dtype).tolist()
    for place, value in leaves(inputs):
        if not low <= value <= high:  # so that NaN is refused too
            raise RefusedError(f"{at(place)} is not between {low:.8g} and {high:.8g}")
    return np.array(inputs, dtype=dtype)


def leaves(value: Any, place: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield every number of nested lists with its place."""
    if not isinstance(value, list):
        yield place, value
        return
    for index, item in enumerate(value):
        yield from leaves(item, (*place, index))


def at(place: tuple[int, ...]) -> str:
    """Return a place in the request in words, counted from 0 as in JSON."""
    row, *inside = place
    return f"row {row}" + (f", value {', '.join(map(str, inside))}" if inside else "")


def named(value: Any) -> str:
    """Return the JSON type of a value in words."""
    return JSON_NAMES[type(value)]


def needed(numbers: set[type]) -> str:
    """Return in words what a model takes."""
    return "send numbers" if float in numbers else "send whole numbers"
