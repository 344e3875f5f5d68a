"""How a request is refused: one form for every endpoint and every gate, and told to its visit."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping, MutableMapping
from http import HTTPStatus
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from dynaserve.serving.failures import FailedError
from dynaserve.serving.refused import LaterError, RefusedError
from dynaserve.serving.visit import visit_of

logger = logging.getLogger(__name__)

FAILED = "failed"
"""The reason where there was none but a mistake of ours."""
GONE = "gone"
"""The reason where the client has left."""

CLIENT_CLOSED_REQUEST = 499
"""What nginx calls it; nobody is left to read it but the metrics."""


def refusal(
    scope: MutableMapping[str, Any], error: RefusedError, headers: Mapping[str, str] | None = None
) -> Response:
    """Return ``{"error": ...}`` with the error's status, and ``Retry-After`` where it says when."""
    visit_of(scope).refused = error.reason
    later = {"retry-after": str(error.seconds)} if isinstance(error, LaterError) else {}
    return JSONResponse({"error": str(error)}, error.status, {**(headers or {}), **later})


def failure(scope: MutableMapping[str, Any], message: str) -> Response:
    """Return a 500, which says that something went wrong but not what."""
    visit_of(scope).refused = FAILED
    return JSONResponse({"error": message}, HTTPStatus.INTERNAL_SERVER_ERROR)


async def answered(
    scope: MutableMapping[str, Any],
    work: Awaitable[Response],
    failed: str = "something went wrong",
) -> Response:
    """Return what ``work`` answers, or what there is to say instead.

    Refusals are answers, not exceptions, for BentoML logs a traceback for what is raised. Whatever
    else is raised passes.
    """
    try:
        return await work
    except RefusedError as refused:
        return refusal(scope, refused)
    except ClientDisconnect:
        return gone(scope)
    except FailedError as error:
        logger.error("%s", error)
        return failure(scope, failed)


def gone(scope: MutableMapping[str, Any]) -> Response:
    """Return what ends a request whose client has left."""
    visit_of(scope).refused = GONE
    return Response(status_code=CLIENT_CLOSED_REQUEST)
