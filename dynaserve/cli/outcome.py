"""How a command ends: its exit code, and one clear line instead of a traceback.

Every command wraps its body in ``reporting`` and what reads the user's input in ``user_input``,
so that a wrong file and a bug of ours never look alike.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import ParamSpec

import typer

DEBUG = "DYNASERVE_DEBUG"
P = ParamSpec("P")


class ExitCode(IntEnum):
    """What a shell or a CI job sees."""

    FINE = 0
    CHECK_FAILED = 1
    USAGE = 2
    INTERNAL = 3
    NOTHING_CHECKED = 5


class UsageError(Exception):
    """What the user gave cannot be used; each of ``problems`` says what would be right."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@contextmanager
def user_input() -> Iterator[None]:
    """Turn what goes wrong inside into a ``UsageError``: bad values, files, missing extras.

    An error that has ``problems`` is several.
    """
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        raise UsageError(*getattr(error, "problems", (str(error),))) from error


def reporting(command: Callable[P, None]) -> Callable[P, None]:
    """Decorate a command: each error becomes one line on stderr, and all an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except typer.Exit:
            raise
        except Exception as error:
            if os.environ.get(DEBUG):
                raise
            typer.echo(_lines(error), err=True)
            usage = isinstance(error, UsageError)
            raise typer.Exit(ExitCode.USAGE if usage else ExitCode.INTERNAL) from None

    return run


def _lines(error: Exception) -> str:
    if isinstance(error, UsageError):
        return "\n".join(f"error: {' '.join(problem.split())}" for problem in error.problems)
    text = " ".join(str(error).split())
    return f"internal error: {type(error).__name__}: {text} (set {DEBUG}=1 for the traceback)"
