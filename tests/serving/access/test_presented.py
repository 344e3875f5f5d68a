from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.serving.access.presented import presented_key
from dynaserve.serving.refused import RefusedError

AUTH, API = b"authorization", b"x-api-key"


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ([], None),
        ([(b"host", b"h"), (b"cookie", b"key")], None),
        ([(AUTH, b"Bearer key")], "key"),
        ([(AUTH, b"bearer key")], "key"),
        ([(AUTH, b"BEARER   key  ")], "key"),
        ([(API, b"key")], "key"),
        ([(API, b" key ")], "key"),
        ([(AUTH, b"Bearer key"), (API, b"key")], "key"),
        # What is no key is handed on, to be nobody's.
        ([(AUTH, b"key")], "key"),
        ([(AUTH, b"Basic dTpw")], "Basic dTpw"),
        ([(AUTH, b"Bearer")], ""),
        ([(AUTH, b"Bearer a b")], "a b"),
        ([(AUTH, b"")], ""),
        ([(API, b"")], ""),
        ([(API, b"\xff\x00")], "\xff\x00"),
    ],
)
def test_one_key_is_found(headers: list[tuple[bytes, bytes]], key: str | None) -> None:
    assert presented_key(headers) == key


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ([(AUTH, b"Bearer key"), (API, b"hush")], "authorization and x-api-key differ"),
        ([(AUTH, b"Basic hush"), (API, b"key")], "authorization and x-api-key differ"),
        ([(AUTH, b"Bearer key"), (API, b"")], "authorization and x-api-key differ"),
        ([(API, b"key"), (API, b"hush")], "header x-api-key once"),
        ([(API, b"key"), (API, b"key")], "header x-api-key once"),
        ([(AUTH, b"Bearer key"), (AUTH, b"Bearer hush")], "header authorization once"),
    ],
)
def test_two_are_refused_and_not_quoted(headers: list[tuple[bytes, bytes]], message: str) -> None:
    with pytest.raises(RefusedError, match=message) as error:
        presented_key(headers)
    assert error.value.status == 400
    assert "hush" not in str(error.value)


@given(st.lists(st.tuples(st.sampled_from([AUTH, API, b"host"]), st.binary()), max_size=4))
def test_any_bytes_are_a_text_nothing_or_a_refusal(headers: list[tuple[bytes, bytes]]) -> None:
    try:
        key = presented_key(headers)
    except RefusedError:
        assert len([name for name, _ in headers if name != b"host"]) > 1
    else:
        assert (key is None) == all(name == b"host" for name, _ in headers)
