"""Why a run ends early. Dask logs and sends on what workers raise: no message quotes a row."""

from __future__ import annotations


class StoppedError(Exception):
    """A run cannot go on; the message says why. What is done is kept."""


class UnforeseenError(StoppedError):
    """A worker failed at something that nobody foresaw: it tells the kind of error, and where."""


class InputError(ValueError):
    """What a run reads is not what it should be; the message says where, and what it lacks."""
