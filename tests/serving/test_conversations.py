from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

import pytest

from dynaserve.canarybench import Conversation
from dynaserve.serving.conversations import TooFewError, read_conversations
from dynaserve.serving.refused import RefusedError, TooLargeError
from dynaserve.serving.settings import SummariesSettings

SETTINGS = SummariesSettings(k_min=2, max_conversations=4, max_characters=10)
GOOD = [{"id": f"c{n}", "user": f"u{n}", "text": "hello"} for n in range(2)]
SECRET = "s3cr3t"


def read(document: Any) -> Any:
    return read_conversations(json.dumps(document).encode(), SETTINGS)


def test_conversations_come_out_as_they_were_sent() -> None:
    assert read({"conversations": GOOD}) == (
        Conversation("c0", "u0", "hello"),
        Conversation("c1", "u1", "hello"),
    )


def test_a_text_may_be_empty_and_as_long_as_the_limit() -> None:
    items = [GOOD[0] | {"text": ""}, GOOD[1] | {"text": "é" * 10}]
    assert [each.text for each in read({"conversations": items})] == ["", "é" * 10]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([GOOD], 'one field "conversations"'),
        ({"conversations": GOOD, SECRET: 1}, 'one field "conversations"'),
        ({"conversations": {SECRET: 1}}, '"conversations" must be a list, not an object'),
        ({"conversations": [GOOD[0], SECRET]}, "conversation 1 is a string, not an object"),
        ({"conversations": [GOOD[0] | {SECRET: 1}]}, "conversation 0 has other fields too"),
        ({"conversations": [GOOD[0], {"id": SECRET, "text": "x"}]}, 'conversation 1 lacks "user"'),
        ({"conversations": [GOOD[0] | {"user": 7}]}, 'conversation 0: its "user" is a number'),
        ({"conversations": [GOOD[0] | {"text": None}]}, 'conversation 0: its "text" is null'),
        ({"conversations": [GOOD[0] | {"id": ""}]}, 'conversation 0: its "id" is empty'),
        (
            {"conversations": [*GOOD, GOOD[1] | {"text": SECRET}]},
            "conversations 1 and 2 have the same id",
        ),
    ],
)
def test_what_is_malformed_is_named_by_its_place_and_not_quoted(
    document: Any, message: str
) -> None:
    with pytest.raises(RefusedError) as caught:
        read(document)
    assert message in str(caught.value)
    assert caught.value.status == HTTPStatus.BAD_REQUEST
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("body", [b"", b'{"conversations": [', b'"\\ud800"', b"\xff", b"[" * 5000])
def test_what_is_not_json_is_told_where(body: bytes) -> None:
    with pytest.raises(RefusedError, match=r"malformed JSON at line 1, column \d+") as caught:
        read_conversations(body, SETTINGS)
    assert caught.value.status == HTTPStatus.BAD_REQUEST


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (
            [GOOD[0] | {"id": str(n)} for n in range(5)],
            '"conversations" holds 5; send at most 4 at once',
        ),
        (
            [GOOD[0], GOOD[1] | {"text": "x" * 11}],
            'conversation 1: its "text" has 11 characters; send at most 10',
        ),
        (
            [GOOD[0] | {"user": "x" * 201}],
            'conversation 0: its "user" has 201 characters; send at most 200',
        ),
    ],
)
def test_each_limit_has_an_error_of_its_own(items: Any, message: str) -> None:
    with pytest.raises(TooLargeError, match=f"^{message}$"):
        read({"conversations": items})


@pytest.mark.parametrize(("items", "users"), [([], 0), ([GOOD[0], GOOD[1] | {"user": "u0"}], 1)])
def test_too_few_users_are_told_how_many_are_needed(items: Any, users: int) -> None:
    with pytest.raises(TooFewError) as caught:
        read({"conversations": items})
    assert caught.value.status == HTTPStatus.UNPROCESSABLE_ENTITY
    assert f"at least 2 different users are needed, these are of {users};" in str(caught.value)
    assert str(caught.value).endswith(f"{2 - users} more")
