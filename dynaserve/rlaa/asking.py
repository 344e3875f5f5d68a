"""What goes wrong when a role is asked ends the run; it never counts as an answer.

A reason to show is made here, and only here: the words of an exception are kept if it belongs to
the contract, which promises that no user text is in them. Of any other only its name is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dynaserve.rlaa.llm.cancellation import check_cancelled
from dynaserve.rlaa.llm.protocol import LLMError, TooLongError, UnavailableError
from dynaserve.rlaa.roles import RoleError, TooMuchError


class RunFailedError(Exception):
    """A run cannot go on. The message says why, without words of the text."""


class OutageError(RunFailedError):
    """It cannot go on now: the model is not there, which is no fault of the text."""


@contextmanager
def asking(role: str) -> Iterator[None]:
    """Turn what is raised into `RunFailedError`; what is too much at once can still be split.

    Parameters
    ----------
    role
        Who is asked, or whatever else of a caller's works on the text.
    """
    try:
        check_cancelled()
        yield
    except (TooLongError, TooMuchError, RunFailedError):
        raise
    except UnavailableError as error:
        raise OutageError(f"{role}: {error}") from None
    except (RoleError, LLMError) as error:
        raise RunFailedError(f"{role}: {error}") from None
    except Exception as error:
        raise RunFailedError(f"{role}: {type(error).__name__}") from None


def require(holds: bool, role: str, fault: str) -> None:
    """Fail the run if a role broke its contract."""
    if not holds:
        raise RunFailedError(f"{role}: {fault}")
