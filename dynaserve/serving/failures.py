"""Failures that quote nothing: what went wrong and where, never the data it went wrong on.

Messages of numerical libraries quote the arrays they choke on, and BentoML logs messages.
So an exception out of a model or a defense is replaced by one that holds its type and the
lines of code it passed through. Nothing here may read an exception's message.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

try:
    from bentoml.exceptions import BentoMLException
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] != "bentoml":
        raise
    raise ModuleNotFoundError(
        "dynaserve.serving needs BentoML: pip install 'dynaserve[serve]'", name="bentoml"
    ) from None

T = TypeVar("T")


class FailedError(Exception):
    """Something failed; the message says what and where, quotes nothing, and is for the log."""


class GuardedError(BentoMLException, FailedError):
    """The same as an answer of BentoML's, with status 500."""

    error_code = HTTPStatus.INTERNAL_SERVER_ERROR


def guarded(what: str, call: Callable[[], T], passing: tuple[type[Exception], ...] = ()) -> T:
    """Return ``call()``; on failure raise without the message, the cause or the data.

    Parameters
    ----------
    what : str
        What runs, for the operator: "the model", "the defense".
    call : callable
        The work. A ``BentoMLException`` that it raises is an answer its author chose, and
        passes.
    passing : tuple of exception types
        Others that pass, because their messages quote nothing.

    Raises
    ------
    GuardedError
        Status 500, which BentoML sends without its message; the server log gets the message.
    """
    try:
        return call()
    except BentoMLException:
        raise
    except passing:
        raise
    except Exception as error:
        failure = withheld(what, error)
    # Outside the except block, so that the new exception does not refer to the old one.
    raise GuardedError(failure)


def contained(what: str, call: Callable[[], T], passing: tuple[type[Exception], ...] = ()) -> T:
    """Return ``call()``; whatever else than ``passing`` it raises becomes a `FailedError`.

    Stricter than `guarded`: no author chose an answer, and an exit would end the worker.
    """
    try:
        return call()
    except passing:
        raise
    except BaseException as error:
        failure = withheld(what, error)
    # Outside the except block, so that the new exception does not refer to the old one.
    raise FailedError(failure)


def withheld(what: str, error: BaseException) -> str:
    """Return what may be said of a failure: its type, and the lines of code it passed through.

    The line that caught it is left out.
    """
    trail = "".join(traceback.format_tb(error.__traceback__)[1:])
    return f"{what} failed with {type(error).__name__}; its message is withheld\n{trail}"
