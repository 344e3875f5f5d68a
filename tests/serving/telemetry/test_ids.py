from __future__ import annotations

import pytest

from dynaserve.serving.telemetry import request_id


@pytest.mark.parametrize("value", ["a", "7f3c-22.B_x", "x" * 128])
def test_a_plain_id_of_the_client_is_kept(value: str) -> None:
    assert request_id([(b"host", b"h"), (b"x-request-id", value.encode())]) == value


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"x" * 129,
        b"two words",
        b"line\nbreak",
        b"trailing\n",
        b'quote"',
        b"\xc3\xa9",
        b"<script>",
        b"a/b",
        b"\x00",
    ],
)
def test_any_other_is_replaced(value: bytes) -> None:
    made = request_id([(b"x-request-id", value)])
    assert made != value.decode("latin-1")
    assert len(made) == 32
    assert set(made) <= set("0123456789abcdef")


def test_each_request_without_one_gets_its_own() -> None:
    assert len({request_id([]) for _ in range(1000)}) == 1000


def test_of_two_only_the_first_is_looked_at() -> None:
    headers = [(b"x-request-id", b"no good"), (b"x-request-id", b"good")]
    assert request_id(headers) not in {"no good", "good"}
