"""The paths of the protocol, for the one model that a service has.

They are exact: the model's name and version stand in them, so that any other name is an unknown
path, which nothing counts and nothing answers but with 404. Every endpoint answers whatever
happens; BentoML is not there to catch it.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Protocol

from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from dynaserve.serving.inference.answer import Labels, write_answer
from dynaserve.serving.inference.body import packed, read_body
from dynaserve.serving.inference.described import SERVER, Described
from dynaserve.serving.inference.request import LENGTH_HEADER, read_request
from dynaserve.serving.models import Model
from dynaserve.serving.refusals import answered
from dynaserve.serving.requests import Limits, off_loop_if_large
from dynaserve.serving.settings import ServeSettings


class Served(Protocol):
    """A service with one classifier."""

    model: Model
    limits: Limits
    settings: ServeSettings

    async def answer(self, rows: NDArray[Any], scope: Scope) -> NDArray[Any]:
        """Return defended probabilities for rows of a request, or raise a `RefusedError`."""
        ...

    async def __is_ready__(self) -> bool:
        """Say whether the model answers now."""
        ...


class Endpoints:
    """Answers for one service."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.labels = Labels(served.model.classes)
        self.described = Described.of(served.model, self.labels, served.settings.name)
        self.answered = self.described.answered

    def routes(self) -> list[Route]:
        """Return all paths, the busiest first."""
        model = f"/v2/models/{self.described.name}"
        models = [model, f"{model}/versions/{self.described.version}"]
        return [
            *(Route(f"{path}/infer", self.infer, methods=["POST"]) for path in models),
            *(Route(f"{path}/ready", self.model_ready) for path in models),
            *(Route(path, self.metadata) for path in models),
            Route("/v2/health/live", self.live),
            Route("/v2/health/ready", self.ready),
            Route("/v2/repository/index", self.index, methods=["POST"]),
            *(Route(path, self.server) for path in ("/v2", "/v2/")),
        ]

    async def infer(self, request: Request) -> Response:
        """Classify the rows of a tensor."""
        return await answered(request.scope, self._infer(request))

    async def _infer(self, request: Request) -> Response:
        served = self.served
        body = await read_body(request, served.limits)
        length = request.headers.get(LENGTH_HEADER)
        asked = await off_loop_if_large(
            body, lambda: read_request(body, length, served.model, served.limits)
        )
        probabilities = await served.answer(asked.rows, request.scope)
        answer = write_answer(self.answered, asked, probabilities, self.labels)
        content, headers = await packed(answer.body, request.headers.get("accept-encoding", ""))
        if answer.json_length is None:
            return Response(content, headers=headers, media_type="application/json")
        headers[LENGTH_HEADER] = str(answer.json_length)
        return Response(content, headers=headers, media_type="application/octet-stream")

    async def live(self, _: Request) -> Response:
        """Say that the server answers."""
        return JSONResponse({"live": True})

    async def ready(self, _: Request) -> Response:
        """Say whether the model answers."""
        return await self._readiness({})

    async def model_ready(self, _: Request) -> Response:
        """Say whether the model answers, by its name."""
        return await self._readiness({"name": self.described.name})

    async def _readiness(self, about: dict[str, Any]) -> Response:
        ready = await self.served.__is_ready__()
        status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        return JSONResponse({**about, "ready": ready}, status)

    async def metadata(self, _: Request) -> Response:
        """Say what goes into the model and what comes out."""
        return JSONResponse(self.described.metadata)

    async def index(self, _: Request) -> Response:
        """List the one model: how a client that does not know its name learns it."""
        return JSONResponse([self.described.listed])

    async def server(self, _: Request) -> Response:
        """Say what this server is."""
        return JSONResponse(SERVER)
