"""The ready-made service that anonymizes texts, or says why it does not.

``POST /anonymize`` and ``POST /anonymize/batch`` read texts (``texts``), have them anonymized one
at a time (``stoppable``) and answer with what may be published (``anonymized``), or with 422 and
no text. ``GET /review`` is a page for people (``review``), which asks ``POST /review/analyze``
(``proposals``). No text of a request may reach a log, a file, a metric or another request's
answer; no half-anonymized text may reach any.
``bentoml serve dynaserve.serving.anonymizer:Anonymizer`` serves what the ``DYNASERVE_*``
variables say (``settings``).
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from http import HTTPStatus
from threading import Event
from typing import Any, TypeVar

import bentoml
from bentoml._internal.utils.uri import join_paths
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from dynaserve.rlaa.llm.cancellation import cancellable
from dynaserve.rlaa.records import Result
from dynaserve.serving.anonymized import published, withheld_because
from dynaserve.serving.anonymizer_api import (
    AnonymizeRequest,
    AnonymizeResponse,
    BatchRequest,
    BatchResponse,
    Heard,
    ReviewResponse,
)
from dynaserve.serving.anonymizers import Runs, make_anonymizers, prepare
from dynaserve.serving.failures import FailedError, contained, withheld
from dynaserve.serving.front import FrontedService, ready_made
from dynaserve.serving.proposals import proposals
from dynaserve.serving.refusals import answered, gone
from dynaserve.serving.refused import LaterError, RefusedError
from dynaserve.serving.review import page
from dynaserve.serving.settings import AnonymizerSettings
from dynaserve.serving.stoppable import GoneError, Workbench
from dynaserve.serving.supervised import SupervisedService
from dynaserve.serving.texts import Asked, read_items, read_text
from dynaserve.serving.visit import visit_of

GRACE_SECONDS = 30
"""How much later than the model's the time of a request is over: only if that one failed."""
LOADING_SECONDS = 2
"""After which it makes sense to ask again whether a model is loaded."""
OUTAGE_SECONDS = 10
"""After which it makes sense to ask again whether a model is back."""

DESCRIPTION = """\
Texts without what gives away who wrote them.

`POST /anonymize` with `{"text": "..."}` answers with the anonymized text, or with 422 and the
reason why there is none. `POST /anonymize/batch` does it for several. `GET /review` is a page on
which a person accepts or rejects each replacement.
"""

T = TypeVar("T")
logger = logging.getLogger(__name__)


class BrokenError(RefusedError):
    """The model could not be loaded, and will not be until somebody sees to it."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR


class AnonymizerService(SupervisedService):
    """Texts without what gives away who wrote them."""

    anonymizer: Callable[[], Runs] | None = None

    def __init__(self) -> None:
        self.settings = AnonymizerSettings.from_environment()
        self.bench = Workbench(self.settings.max_pending, self.settings.seconds)
        self.loading: Future[Mapping[str, Runs]] = self.bench.submit(self.load)

    @classmethod
    def rehearse(cls) -> None:
        """Check all but the model itself: it would be in memory once more, for good."""
        if cls.anonymizer is None:
            prepare(AnonymizerSettings.from_environment())

    def load(self) -> Mapping[str, Runs]:
        """Return an anonymizer per mode."""
        try:
            if (make := type(self).anonymizer) is None:
                return rehearsed(make_anonymizers(self.settings), self.settings.mode)
            return {self.settings.mode: make()}
        except (ValueError, OSError, ImportError) as error:
            logger.error("the model cannot be loaded: %s", error)
            raise
        except Exception as error:
            logger.error("%s", withheld("loading the model", error))
            raise

    def __is_ready__(self) -> bool:
        """Say whether the model is loaded."""
        return self.loading.done() and self.loading.exception() is None

    def require_loaded(self) -> None:
        """Refuse what comes before the model is loaded, for good if it cannot be."""
        if not self.loading.done():
            raise LaterError("the model is not loaded yet", LOADING_SECONDS)
        if self.loading.exception() is not None:
            raise BrokenError("the model cannot be loaded; the log of the server says why")

    @bentoml.api(  # type: ignore[untyped-decorator]
        route="/anonymize", input_spec=AnonymizeRequest, output_spec=AnonymizeResponse
    )
    async def anonymize(self, text: Heard, **_: Any) -> Response:
        """Anonymize a text.

        422 says why there is none that may be published, and brings none. 400 says what is wrong
        and where, 408 that the body did not come, 413 what is too much, 415 that this is not
        JSON, 429 and 503 when to come back (too much waits, or the model is not there), 504 that
        it took too long.
        """
        return await self.answer(text, read_text, self.publish)

    @bentoml.api(  # type: ignore[untyped-decorator]
        route="/anonymize/batch", input_spec=BatchRequest, output_spec=BatchResponse
    )
    async def anonymize_batch(self, items: Heard) -> Response:
        """Anonymize texts, each with an answer of its own: its "code" is the one it had got alone.

        The time limit is that of all of them together.
        """
        return await self.answer(items, read_items, self.publish_each)

    @bentoml.api(  # type: ignore[untyped-decorator]
        route="/review/analyze", input_spec=AnonymizeRequest, output_spec=ReviewResponse
    )
    async def analyze(self, text: Heard, **_: Any) -> Response:
        """Return places and replacements for a person to decide about, and no text.

        Unlike POST /anonymize it answers for what is not releasable too, with words of the text
        in the reasons: its answer is for whoever sent the text.
        """
        return await self.answer(text, read_text, self.propose)

    async def answer(
        self,
        request: Heard,
        read: Callable[[bytearray, AnonymizerSettings], T],
        work: Callable[[T, Event], tuple[int, Any]],
    ) -> Response:
        """Read a request, have it worked on, and answer with what comes of it."""
        return await answered(
            request.scope,
            self.worked(request, read, work),
            "something went wrong; nothing is returned",
        )

    async def worked(
        self,
        request: Heard,
        read: Callable[[bytearray, AnonymizerSettings], T],
        work: Callable[[T, Event], tuple[int, Any]],
    ) -> Response:
        """Do what `answer` does; raise a `RefusedError` or `FailedError`."""
        body = await request.body(self.settings.max_bytes)
        asked = read(body, self.settings)
        self.require_loaded()
        self.bench.require_room()  # before the client pays for it
        await self.take(asked, request.scope)
        try:
            code, answer = await self.bench.do(
                lambda stop: contained("anonymizing", lambda: work(asked, stop), (RefusedError,)),
                request.hung_up(),
            )
        except GoneError:
            return gone(request.scope)
        return JSONResponse(answer, code)

    async def take(self, asked: Any, scope: Scope) -> None:
        """Take the texts of a request from what its client may ask."""
        visit = visit_of(scope)
        visit.rows = len(asked) if isinstance(asked, tuple) else 1
        await visit.spend(visit.rows)

    def publish(self, asked: Asked, stop: Event) -> tuple[int, dict[str, Any]]:
        """Return what may be published of a text, or why nothing may."""
        result = self.run(asked, stop)
        if result.releasable:
            return HTTPStatus.OK, published(asked.text, result)
        because = withheld_because(result)
        return HTTPStatus.UNPROCESSABLE_ENTITY, {
            "error": f"not releasable: {because['reason']}",
            **because,
        }

    def publish_each(
        self, items: tuple[Asked | RefusedError, ...], stop: Event
    ) -> tuple[int, dict[str, Any]]:
        """Return the answer to each item, if nobody stops it before the last."""
        answers = [self.publish_item(item, stop) for item in items if not stop.is_set()]
        return HTTPStatus.OK, {"items": answers}

    def publish_item(self, item: Asked | RefusedError, stop: Event) -> dict[str, Any]:
        """Return the answer to one item; none fails another."""
        try:
            if isinstance(item, RefusedError):
                raise item
            code, answer = contained(
                "anonymizing", functools.partial(self.publish, item, stop), (RefusedError,)
            )
        except RefusedError as refused:
            code, answer = refused.status, {"error": str(refused)}
        except FailedError as failed:
            logger.error("%s", failed)
            code, answer = HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "something went wrong"}
        return {"code": code, **answer}

    def propose(self, asked: Asked, stop: Event) -> tuple[int, dict[str, Any]]:
        """Return what a person may decide about."""
        return HTTPStatus.OK, proposals(asked.text, self.run(asked, stop))

    def run(self, asked: Asked, stop: Event) -> Result:
        """Return what comes of a text.

        Raises
        ------
        LaterError
            The model is not there, for this or any text.
        RefusedError
            The request asks for a mode that is not served.
        """
        anonymizers = self.loading.result()
        anonymizer = anonymizers.get(asked.mode or self.settings.mode)
        if anonymizer is None:
            served = " or ".join(anonymizers)
            raise RefusedError(f'"mode" must be {served} here: no other is served')
        with cancellable(stop):
            result = anonymizer.run(asked.text, attributes=asked.attributes)
        if result.outage:
            logger.error("the model is not there: %s", result.reason)
            raise LaterError("the model does not answer; nothing is returned", OUTAGE_SECONDS)
        return result


def rehearsed(anonymizers: Mapping[str, Runs], mode: str) -> Mapping[str, Runs]:
    """Return anonymizers of which one has run: what loads on first use has loaded then."""
    anonymizers[mode].run("I am 31, and I live in Porto.")
    return anonymizers


class AnonymizerFront(FrontedService):
    """A service with a page for people."""

    settings_class = AnonymizerSettings
    grace = GRACE_SECONDS

    def named_things(self) -> list[BaseRoute]:
        """Return the route of the review page."""
        return [Route(join_paths(self.path_prefix or "", "/review"), page, methods=["GET"])]


def anonymizer_service(
    *, anonymizer: Callable[[], Runs] | None = None, **options: Any
) -> bentoml.Service[AnonymizerService]:
    """Make the service.

    Parameters
    ----------
    anonymizer
        Makes what anonymizes, once per worker, such as ``Anonymizer.embedded``; instead of what
        the ``DYNASERVE_*`` variables say; of these only ``DYNASERVE_MODE`` still counts, which
        names what it does. One thread calls it.
    options
        Those of ``bentoml.service``, such as ``image``.

    Notes
    -----
    Each worker has a model of its own, and works on one text at a time.
    """
    return ready_made(
        AnonymizerFront, AnonymizerService, DESCRIPTION, options, anonymizer=anonymizer
    )


Anonymizer = anonymizer_service()
