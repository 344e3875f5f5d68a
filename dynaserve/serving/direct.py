"""Endpoints that are answered before BentoML's layers, which take longer than a small model.

BentoML still starts them, right after it has made the service's instance, and knows nothing else
of them. They must answer whatever happens: it is not there to catch it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import bentoml
from starlette.applications import Starlette
from starlette.routing import BaseRoute


def direct_app(routes_of: Callable[[Any], Sequence[BaseRoute]]) -> Starlette:
    """Return an app to mount on a service.

    Parameters
    ----------
    routes_of : callable
        From the service's instance to the routes, which the app has once it is started.
    """

    @asynccontextmanager
    async def started(app: Starlette) -> AsyncIterator[None]:
        app.router.routes[:] = routes_of(bentoml.get_current_service())
        yield

    return Starlette(lifespan=started)
