"""The ready-made service: a classifier behind ``POST /predict`` and ``/v2``, defended.

The service has three steps, each in its own module: read the rows (``requests``), share calls
of the model (``batching``), release through the defense (``scoring``), which alone sees logits.
The Open Inference Protocol at ``/v2`` (``inference``) has its own way to read rows, and shares all
that follows.

``bentoml serve dynaserve.serving.classifier:Classifier`` serves what the ``DYNASERVE_*`` variables
say (``settings``).
"""

from __future__ import annotations

from typing import Annotated, Any, cast

import bentoml
import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from dynaserve.serving.batching import Batches
from dynaserve.serving.defenses import choose_defense, rehearse
from dynaserve.serving.direct import direct_app
from dynaserve.serving.front import FrontedService, ready_made
from dynaserve.serving.inference import Endpoints
from dynaserve.serving.models import UnscoredError, load_model
from dynaserve.serving.readiness import Readiness, Watched
from dynaserve.serving.refusals import answered
from dynaserve.serving.refused import RefusedError
from dynaserve.serving.requests import (
    Limits,
    Unread,
    off_loop_if_large,
    read_body,
    read_inputs,
    read_rows,
)
from dynaserve.serving.scoring import Scorer
from dynaserve.serving.settings import ServeSettings
from dynaserve.serving.supervised import SupervisedService
from dynaserve.serving.telemetry.counts import uncounted
from dynaserve.serving.visit import visit_of
from dynaserve.serving.written import PART_NUMBERS, written_in_parts

DESCRIPTION = """\
A classifier whose answers say less about its training data.

`POST /predict` with `{"inputs": [[...], ...]}`, one list of numbers per row, answers with
`{"labels": [...], "probabilities": [[...], ...]}`. The probabilities went through a
membership-inference defense; the raw scores stay inside the server.

The same answers, faster: the Open Inference Protocol v2 at `/v2`, with raw tensors in and out, for
clients of KServe and Triton. `POST /v2/repository/index` names the model.
"""


class PredictRequest(bentoml.IODescriptor):  # type: ignore[misc] # BentoML's SDK is untyped
    """Rows to classify."""

    model_config = ConfigDict(hide_input_in_errors=True)

    inputs: Annotated[list[Any], Field(description="One nested list of numbers per row.")]

    @classmethod
    async def from_http_request(cls, request: Request, serde: Any) -> PredictRequest:  # noqa: ARG003
        """Hand the body over unread: BentoML's parser logs the values that it refuses."""
        return cast("PredictRequest", cls.model_construct(inputs=Unread.of(request)))


class PredictResponse(BaseModel):
    """One label and one row of defended probabilities per row of the request."""

    model_config = ConfigDict(hide_input_in_errors=True)

    labels: Annotated[list[Any], Field(description="The model's own names: text or integers.")]
    probabilities: list[list[float]]


class ScorelessError(RefusedError):
    """The model gives these rows no finite scores."""

    reason = "unscored"


class ClassifierService(SupervisedService):
    """A classifier whose answers say less about its training data."""

    def __init__(self) -> None:
        self.settings = ServeSettings.from_environment()
        self.model = load_model(self.settings.source, trust_pickle=self.settings.trust_pickle)
        self.defense = choose_defense(self.settings.defense, self.model, self.settings)
        self.limits = Limits.of(
            self.model.input_shape,
            max_rows=self.settings.max_rows,
            max_bytes=self.settings.max_bytes,
            max_columns=self.settings.max_columns,
        )
        # A defense made for other classes shows here, in plain words, not in a request.
        with uncounted():
            row = rehearse(self.model, self.defense)
        watched = Watched(Scorer(self.model, self.defense), row)
        self.batches = Batches(watched, self.settings.max_rows)
        self.readiness = Readiness(watched, self.batches)

    async def __is_ready__(self) -> bool:
        """Say whether the model answers now; BentoML hangs if this raises."""
        return await self.readiness()

    async def answer(self, rows: NDArray[Any], scope: Scope) -> NDArray[Any]:
        """Return defended probabilities (n, k) for the rows (n, *input_shape) of a request.

        Raises
        ------
        RefusedError
            The client may ask no more, or the model gives rows no scores.
        """
        visit = visit_of(scope)
        visit.rows = len(rows)
        await visit.spend(len(rows))
        try:
            return await self.batches(rows, visit)
        except UnscoredError as unscored:
            raise ScorelessError(str(unscored)) from None

    @bentoml.api(  # type: ignore[untyped-decorator]
        input_spec=PredictRequest, output_spec=PredictResponse
    )
    async def predict(self, inputs: Unread) -> Response:
        """Classify rows of numbers, each of the shape that the model was trained on.

        The probabilities went through a membership-inference defense. 400 says which row is wrong
        and what would be right, 413 that it is too much at once, 415 that this is not JSON.
        """
        return await answered(inputs.scope, self.classify(inputs))

    async def classify(self, inputs: Unread) -> Response:
        """Return the labels and probabilities of rows, or raise a `RefusedError`."""
        model, limits = self.model, self.limits
        body = await read_body(inputs, limits.max_bytes, limits.advice)

        def rows_of() -> NDArray[Any]:
            return read_rows(
                read_inputs(body, limits),
                model.dtype,
                model.input_shape,
                max_rows=limits.max_rows,
                max_columns=limits.max_columns,
            )

        rows = await off_loop_if_large(body, rows_of)
        probabilities = np.ascontiguousarray(await self.answer(rows, inputs.scope))
        answer = {
            "labels": [model.classes[best] for best in probabilities.argmax(axis=1)],
            "probabilities": probabilities,
        }
        if probabilities.size > PART_NUMBERS:
            content: bytes | memoryview = await written_in_parts(answer)
        else:
            content = orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
        return Response(content, media_type="application/json")


def routes_of(service: ClassifierService) -> list[BaseRoute]:
    """Return the routes of both ways in, the busiest first."""

    async def predict(request: Request) -> Response:
        return await answered(request.scope, service.classify(Unread.of(request)))

    return [*Endpoints(service).routes(), Route("/predict", predict, methods=["POST"])]


class ClassifierFront(FrontedService):
    """A service whose endpoints are answered before BentoML's layers.

    BentoML's own `/predict` is in the API document, and what its clients know of.
    """

    settings_class = ServeSettings

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.direct = direct_app(routes_of)
        self.mount_asgi_app(self.direct, path="/", name="direct")

    def named_things(self) -> list[BaseRoute]:
        """Return the endpoints, once they are there; below a prefix BentoML's router finds them."""
        return [] if self.path_prefix else self.direct.router.routes


def classifier_service(**options: Any) -> bentoml.Service[ClassifierService]:
    """Make the service; ``options`` are those of ``bentoml.service``, such as ``image``."""
    return ready_made(ClassifierFront, ClassifierService, DESCRIPTION, options)


Classifier = classifier_service()
