"""One HTTP request, as access, limits and telemetry see it: everything but what it says.

A visit is made when a request comes in (``observed``), travels in its ASGI scope, and holds no byte
of a body, no query and no score, so that it can be logged and counted as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

KEY = "dynaserve.visit"
UNKNOWN = "unknown"
"""What every path is called that no route takes: anything else could be counted for ever."""


async def unlimited(rows: int) -> None:
    """Let any number of rows pass: a visit that no gate has seen."""


@dataclass
class Visit:
    """What is known of a request, filled in as it goes through.

    Attributes
    ----------
    id : str
        Comes back in the header ``x-request-id``.
    endpoint : str
        Path of the route that answers, never the path that was asked for.
    client : str or None
        Id of the API key; None where nobody has to show one.
    rows : int
        Rows, texts or conversations that it brought, once they are counted.
    refused : str or None
        Why there was no answer: the ``reason`` of a `RefusedError`.
    queue, model, defense : float
        Seconds that its rows waited for the model, and that the call took which they were part of.
    spend : callable
        From a number of rows to nothing: takes them from the client's budget, or raises a
        `RefusedError`. To be awaited before the model sees the rows.
    """

    id: str
    endpoint: str = UNKNOWN
    client: str | None = None
    rows: int = 0
    status: int = 0
    refused: str | None = None
    queue: float = 0.0
    model: float = 0.0
    defense: float = 0.0
    spend: Callable[[int], Awaitable[None]] = field(default=unlimited, repr=False)


def visit_of(scope: MutableMapping[str, Any]) -> Visit:
    """Return the visit of a request; a new one where nothing has made it yet."""
    visit: Visit | None = scope.get(KEY)
    if visit is None:
        visit = scope[KEY] = Visit(id="")
    return visit
