from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from dynaserve.serving.failures import FailedError, GuardedError
from dynaserve.serving.refusals import answered
from dynaserve.serving.refused import BusyError, RefusedError, TooLargeError
from dynaserve.serving.visit import visit_of


def answer_to(error: Exception, **options: Any) -> tuple[Response, str | None]:
    async def work() -> Response:
        raise error

    scope: dict[str, Any] = {}
    return asyncio.run(answered(scope, work(), **options)), visit_of(scope).refused


def test_an_answer_passes_as_it_is() -> None:
    async def work() -> Response:
        return Response(b"fine")

    scope: dict[str, Any] = {}
    assert asyncio.run(answered(scope, work())).body == b"fine"
    assert visit_of(scope).refused is None


@pytest.mark.parametrize(
    ("error", "status", "reason", "later"),
    [
        (RefusedError("wrong"), 400, "malformed", None),
        (TooLargeError("wrong"), 413, "too_large", None),
        (BusyError("wrong", 7), 429, "busy", "7"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_when_to_come_back(
    error: Exception, status: int, reason: str, later: str | None
) -> None:
    answer, refused = answer_to(error)
    assert (answer.status_code, refused) == (status, reason)
    assert json.loads(bytes(answer.body)) == {"error": "wrong"}
    assert answer.headers.get("retry-after") == later


@pytest.mark.parametrize("kind", [FailedError, GuardedError])
def test_a_failure_is_for_the_log_alone(
    kind: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    answer, refused = answer_to(kind("the model failed with ValueError"), failed="sorry")
    assert (answer.status_code, refused) == (500, "failed")
    assert json.loads(bytes(answer.body)) == {"error": "sorry"}
    assert "the model failed with ValueError" in caplog.text


def test_a_client_that_left_is_told_nothing() -> None:
    answer, refused = answer_to(ClientDisconnect())
    assert (answer.status_code, answer.body, refused) == (499, b"", "gone")


def test_what_nobody_foresaw_passes() -> None:
    with pytest.raises(ZeroDivisionError):
        answer_to(ZeroDivisionError())
