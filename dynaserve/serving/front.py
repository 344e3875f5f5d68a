"""What the ready-made service shows around its endpoint, where BentoML would bring third parties.

BentoML's page loads an analytics script, and its metrics keep the path of every request for
ever, known or not. Here the page comes from this server alone, and unknown paths are answered
before anything counts them. It may not read a request beyond its path.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import bentoml
from bentoml._internal import server
from bentoml._internal.server.http.instruments import RunnerTrafficMetricsMiddleware
from bentoml._internal.server.http.traffic import MaxConcurrencyMiddleware, TimeoutMiddleware
from bentoml._internal.utils.analytics.usage_stats import do_not_track
from bentoml._internal.utils.uri import join_paths
from bentoml.exceptions import BentoMLConfigException
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from dynaserve.serving.access.gate import HEALTH, METRICS, Gate
from dynaserve.serving.bounded import Bounded
from dynaserve.serving.connections import install
from dynaserve.serving.observed import Observed
from dynaserve.serving.settings import ServiceSettings, SettingsError
from dynaserve.serving.telemetry import Observer, configure_logs, metrics
from dynaserve.serving.visit import UNKNOWN, visit_of

T = TypeVar("T")

# BentoML reports what is served unless told otherwise, and remembers whether it was told.
os.environ.setdefault("BENTOML_DO_NOT_TRACK", "True")
do_not_track.cache_clear()

REPLACED = (
    MaxConcurrencyMiddleware,
    OpenTelemetryMiddleware,
    RunnerTrafficMetricsMiddleware,
    TimeoutMiddleware,
)
"""Layers of BentoML; ours do what they did."""

ASSETS = Path(server.__file__).with_name("static_content")
"""The copy of Swagger UI that BentoML ships."""
ASSET_NAMES = ("swagger-ui.css", "swagger-ui-bundle.js")

ONLY_THIS_SERVER = {
    "content-security-policy": "default-src 'self' 'unsafe-inline'; img-src 'self' data:"
}
NOTHING = JSONResponse(
    {"error": "there is nothing at this path; the page at / lists what there is"},
    HTTPStatus.NOT_FOUND,
)
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>DynaServe</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="./static_content/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<script src="./static_content/swagger-ui-bundle.js"></script>
<script>SwaggerUIBundle({url: "./docs.json", dom_id: "#docs", validatorUrl: null});</script>
</body>
</html>
"""


class FrontedService(bentoml.Service[Any]):  # type: ignore[misc] # BentoML's SDK is untyped
    """A BentoML service with a page of its own, and nothing at paths that it does not know.

    Around it stand, from the outside: what watches every request (``observed``), who may ask
    (``access``), how much at a time (``bounded``), and which paths there are (``KnownPaths``).
    BentoML's own layers for the same are taken out.
    """

    settings_class: ClassVar[type[ServiceSettings]] = ServiceSettings
    grace: ClassVar[float] = 0.0
    """Seconds by which a request may outlast its limit, where the service keeps that itself."""

    @property
    def doc(self) -> str:
        """The description in the API document; BentoML's own is about BentoML."""
        return self.description or ""

    def named_things(self) -> list[BaseRoute]:
        """Routes that are answered right here, before BentoML's layers.

        For what has a name in its path, which nothing is to count, and for what must be fast.
        Their endpoints must answer whatever happens: BentoML is not there to catch it.
        """
        return []

    def to_asgi(self, is_main: bool = True) -> Starlette:
        """Return BentoML's app behind our layers, with our page in place of its own."""
        app = cast("Starlette", super().to_asgi(is_main=is_main))
        if not is_main:
            app.add_middleware(KnownPaths)
            return app
        settings = self.settings_class.from_environment()
        theirs = {"index", "static_content", "assets", "metrics"}
        kept = [route for route in app.routes if getattr(route, "name", "") not in theirs]
        ours = page_routes(self.path_prefix)
        if settings.metrics is None:  # else they have a port of their own
            ours.append(Route(METRICS, metrics))
        app.router.routes[:] = [*kept, *ours]
        app.user_middleware[:] = [each for each in app.user_middleware if not replaced(each.cls)]
        app.add_middleware(KnownPaths, named_things=self.named_things())
        app.add_middleware(
            Bounded,
            max_concurrent=settings.max_concurrent,
            seconds=settings.seconds + self.grace,
            body_seconds=settings.body_seconds,
            exempt=HEALTH,
        )
        app.add_middleware(Gate, settings=settings)
        configure_logs(settings.logs)
        observer = Observer(settings, f"dynaserve-{self.name.lower()}")
        app.add_middleware(Observed, observer=observer)
        install()
        return app


def ready_made(
    front: type[FrontedService],
    kind: type[T],
    description: str,
    options: Mapping[str, Any],
    **functions: Callable[..., Any] | None,
) -> bentoml.Service[T]:
    """Make a service as its settings say.

    It binds to 127.0.0.1 unless its settings, ``bentoml serve --host`` or ``BENTOML_HOST`` say
    otherwise, and keeps no access log, which takes time of every request, unless BentoML's own
    configuration turns it on; ``/metrics`` counts requests either way.

    Parameters
    ----------
    front
        Makes BentoML's service of it.
    kind
        What it does; its name without "Service" is that of the service.
    options
        Those of ``bentoml.service``, such as ``image``.
    functions
        To take the place of attributes; None leaves one as it is.

    Raises
    ------
    BentoMLConfigException
        Listing what is wrong with the settings.
    """
    try:
        settings = front.settings_class.from_environment()
    except SettingsError as error:
        raise BentoMLConfigException(str(error)) from None
    # A plain function in a class would become a method.
    own = {name: staticmethod(each) for name, each in functions.items() if each is not None}
    defaults: dict[str, Any] = {
        "name": kind.__name__.removesuffix("Service"),
        "description": description,
        "http": {"host": settings.host, "port": settings.port},
        "logging": {"access": {"enabled": False}},
        "workers": settings.workers,
        "service_class": front,
    }
    made = type(kind.__name__, (kind,), own) if own else kind
    return bentoml.service(**{**defaults, **options})(made)


def replaced(layer: object) -> bool:
    """Whether a layer of BentoML's does what one of ours does."""
    return layer in REPLACED


def page_routes(prefix: str | None) -> list[Route]:
    """Return the page and its files one by one: a mounted folder would know any path inside it."""
    files = {name: functools.partial(asset, name) for name in ASSET_NAMES}
    return [
        Route(join_paths(prefix or "", "/"), page),
        *(Route(join_paths(prefix or "", "static_content", name), files[name]) for name in files),
    ]


async def page(_: Request) -> Response:
    """Answer with the page that shows the API document."""
    return HTMLResponse(PAGE, headers=ONLY_THIS_SERVER)


async def asset(name: str, _: Request) -> Response:
    """Answer with one of the files that the page needs."""
    return FileResponse(ASSETS / name)


class KnownPaths:
    """ASGI middleware: 404 for what no route of the app takes, at once and in one form.

    ``named_things`` are routes that it answers itself; they may be filled in until the first
    request.
    """

    def __init__(self, app: ASGIApp, named_things: Sequence[BaseRoute] = ()) -> None:
        self.app = app
        self.named_things = named_things

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a known path on."""
        if scope["type"] == "http":
            await self.answers(scope)(scope, receive, send)
        elif scope["type"] == "websocket" and route_of(scope["app"].routes, scope) is None:
            await WebSocketClose()(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def answers(self, scope: Scope) -> ASGIApp:
        """Return what answers a request, having noted the route that it takes."""
        visit = visit_of(scope)
        if route := route_of(self.named_things, scope):
            visit.endpoint = route.path
            match, found = route.matches(scope)
            if match is Match.PARTIAL:
                allowed = {"allow": ", ".join(sorted(route.methods))}
                return JSONResponse(
                    {"error": "not by this method"}, HTTPStatus.METHOD_NOT_ALLOWED, allowed
                )
            scope.update(found)
            return cast("ASGIApp", route.app)
        if (route := route_of(scope["app"].routes, scope)) is None:
            return NOTHING
        visit.endpoint = getattr(route, "path", UNKNOWN)
        return self.app


def route_of(routes: Sequence[BaseRoute], scope: Scope) -> Any:
    """Return the first route that takes a path, if perhaps by another method; None if none does."""
    for route in routes:
        # Most paths have no parameters: to compare two strings is faster than to match.
        known = getattr(route, "path", "")
        if "{" not in known and isinstance(route, Route) and not scope.get("root_path"):
            if known == scope["path"]:
                return route
        elif route.matches(scope)[0] is not Match.NONE:
            return route
    return None
