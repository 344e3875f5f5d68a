"""What the ready-made service shows around its endpoint, where BentoML would bring third parties.

BentoML's page loads an analytics script, and its metrics keep the path of every request for
ever, known or not. Here the page comes from this server alone, and unknown paths are answered
before anything counts them. It may not read a request beyond its path.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

import bentoml
from bentoml._internal import server
from bentoml._internal.utils.analytics.usage_stats import do_not_track
from bentoml._internal.utils.uri import join_paths
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

# BentoML reports what is served unless told otherwise, and remembers whether it was told.
os.environ.setdefault("BENTOML_DO_NOT_TRACK", "True")
do_not_track.cache_clear()

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
    """A BentoML service with a page of its own, and nothing at paths that it does not know."""

    @property
    def doc(self) -> str:
        """The description in the API document; BentoML's own is about BentoML."""
        return self.description or ""

    def named_things(self) -> list[Route]:
        """Routes with a name in their paths, below the prefix; nothing counts what was asked for.

        Their endpoints must answer whatever happens: BentoML is not there to catch it.
        """
        return []

    def to_asgi(self, is_main: bool = True) -> Starlette:
        """Return BentoML's app behind ``KnownPaths``, with our page in place of its own."""
        app = cast("Starlette", super().to_asgi(is_main=is_main))
        if is_main:
            theirs = {"index", "static_content", "assets"}
            kept = [route for route in app.routes if getattr(route, "name", "") not in theirs]
            app.router.routes[:] = [*kept, *page_routes(self.path_prefix)]
        # Outside of the ones that BentoML knows, its metrics too.
        app.add_middleware(KnownPaths, named_things=self.named_things() if is_main else [])
        return app


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

    ``named_things`` are routes that it answers itself.
    """

    def __init__(self, app: ASGIApp, named_things: Sequence[Route] = ()) -> None:
        self.app = app
        self.named_things = named_things

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a known path on."""
        answer = self.app
        if scope["type"] == "http" and (found := self.named(scope)):
            answer = found
        elif scope["type"] != "lifespan" and not is_known(scope):
            answer = WebSocketClose() if scope["type"] == "websocket" else NOTHING
        await answer(scope, receive, send)

    def named(self, scope: Scope) -> ASGIApp | None:
        """Return what answers for the route that takes the path, if one does."""
        for route in self.named_things:
            match, found = route.matches(scope)
            if match is Match.PARTIAL:
                return JSONResponse({"error": "not by this method"}, HTTPStatus.METHOD_NOT_ALLOWED)
            if match is Match.FULL:
                scope.update(found)
                return route.app
        return None


def is_known(scope: Scope) -> bool:
    """Whether some route takes the path, if perhaps by another method."""
    return any(route.matches(scope)[0] is not Match.NONE for route in scope["app"].routes)
