"""Why a request is not answered as it is: what is raised, with the status that it ends in."""

from __future__ import annotations

from http import HTTPStatus


class RefusedError(ValueError):
    """The request cannot be answered as it is; the message is safe to send and to log."""

    status = HTTPStatus.BAD_REQUEST
    reason = "malformed"
    """One word for logs and metrics."""


class TooLargeError(RefusedError):
    """The request holds more than the service takes at once."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    reason = "too_large"


class MediaTypeError(RefusedError):
    """The request is not JSON."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    reason = "media_type"


class LaterError(RefusedError):
    """Not now; ``seconds`` say when to come back."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    reason = "unavailable"

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class BusyError(LaterError):
    """There is as much work waiting as may."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    reason = "busy"


class LateError(RefusedError):
    """The work was not done in time, and was stopped."""

    status = HTTPStatus.GATEWAY_TIMEOUT
    reason = "late"
