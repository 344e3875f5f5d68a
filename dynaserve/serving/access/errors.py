"""Why a gate refuses. No message holds what was presented, nor says which part of it was wrong."""

from __future__ import annotations

from http import HTTPStatus

from dynaserve.serving.refused import LaterError, RefusedError, TooLargeError


class UnauthenticatedError(RefusedError):
    """No key, or none that opens anything: unknown, expired and revoked ones look the same."""

    status = HTTPStatus.UNAUTHORIZED
    reason = "unauthenticated"

    def __init__(self) -> None:
        super().__init__(
            "send a valid API key, as 'authorization: Bearer KEY' or as 'x-api-key: KEY'"
        )


class ForbiddenError(RefusedError):
    """Not this way: the key is for something else, or the service answers this machine only."""

    status = HTTPStatus.FORBIDDEN
    reason = "forbidden"


class RateError(LaterError):
    """The client asks too often."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    reason = "rate"


class BudgetError(LaterError):
    """The client has had the rows of its day."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    reason = "budget"


class OverBudgetError(TooLargeError):
    """One request brings more rows than its client may have in a whole day, used up or not."""
