"""The ready-made service that publishes summaries of conversations, or says why it does not.

``POST /summaries`` reads conversations (``conversations``), makes and audits an answer
(``publishing``, ``verdict``) and sends these very bytes, or the audit's report with 409.
``GET /audits/{id}`` gives the report again (``audits``). No text of a request may reach a log, a
file, another request's answer, or any answer that was not audited.
``bentoml serve dynaserve.serving.summaries:Summaries`` serves what the ``DYNASERVE_*`` variables
say (``settings``).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Annotated, Any, TypeVar, cast

import anyio
import bentoml
from bentoml._internal.utils.uri import join_paths
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from dynaserve.canarybench import Conversation
from dynaserve.canarybench.corpus import generate
from dynaserve.canarybench.summarizers import Summarizer, keyword_summary
from dynaserve.serving.audits import AuditFiles
from dynaserve.serving.conversations import read_conversations
from dynaserve.serving.failures import contained, withheld
from dynaserve.serving.front import FrontedService, ready_made
from dynaserve.serving.publishing import Outcome, Policy, publish
from dynaserve.serving.refusals import answered
from dynaserve.serving.refused import RefusedError
from dynaserve.serving.requests import Unread, read_body
from dynaserve.serving.settings import SummariesSettings
from dynaserve.serving.supervised import SupervisedService
from dynaserve.serving.visit import visit_of

DESCRIPTION = """\
Summaries of conversations that are audited before they leave.

`POST /summaries` with `{"conversations": [{"id": "...", "user": "...", "text": "..."}, ...]}`
answers with clusters, keywords and summaries, or with 409 and a report of what would have leaked.
`GET /audits/{id}` gives the report of an answer, by the id in its header `audit-id`.
"""

T = TypeVar("T")
logger = logging.getLogger(__name__)


class SummariesRequest(bentoml.IODescriptor):  # type: ignore[misc] # BentoML's SDK is untyped
    """Conversations to summarize."""

    model_config = ConfigDict(hide_input_in_errors=True)

    conversations: Annotated[
        list[Any], Field(description='Objects of three strings: "id", "user" and "text".')
    ]

    @classmethod
    async def from_http_request(cls, request: Request, serde: Any) -> SummariesRequest:  # noqa: ARG003
        """Hand the body over unread: BentoML's parser logs the values that it refuses."""
        return cast("SummariesRequest", cls.model_construct(conversations=Unread.of(request)))


class ClusterSummary(BaseModel):
    """Conversations about one thing, by enough people."""

    id: str
    title: str
    keywords: list[str]
    summary: str
    users: int
    conversations: int


class SummariesResponse(BaseModel):
    """What is published."""

    clusters: list[ClusterSummary]
    suppressed_clusters: Annotated[int, Field(description="Held back: too few people wrote them.")]
    coherence: float | None


class SummariesService(SupervisedService):
    """Summaries of conversations that are audited before they leave."""

    summarizer: Summarizer | None = None
    redact: Callable[[str], str] | None = None

    def __init__(self) -> None:
        self.settings = SummariesSettings.from_environment()
        self.policy = Policy.of(self.settings, type(self).summarizer, type(self).redact)
        self.audits = audit_files(self.settings)
        self.slots = anyio.CapacityLimiter(self.settings.threads)
        rehearse(self.audits)

    @bentoml.on_startup  # type: ignore[untyped-decorator]
    def compute_in_one_thread(self) -> None:
        """Have each request computed in its own thread alone, so that its sums repeat to the bit.

        For good: what one request sets for its own time, the end of another one would undo.
        """
        from threadpoolctl import threadpool_limits  # noqa: PLC0415 - comes with scikit-learn

        threadpool_limits(limits=1)

    @bentoml.api(  # type: ignore[untyped-decorator]
        input_spec=SummariesRequest, output_spec=SummariesResponse
    )
    async def summaries(self, conversations: Unread) -> Response:
        """Publish summaries of conversations, if an audit of the very answer finds nothing in it.

        409 brings the audit's report, 422 says how many users are needed, 400 what is wrong and
        where, 413 what is too much, 415 that this is not JSON. After a 500 nothing was published.
        """
        return await answered(
            conversations.scope,
            self.summarize(conversations),
            "something went wrong; nothing was published",
        )

    async def summarize(self, conversations: Unread) -> Response:
        """Return what is published, or why nothing is; raise a `RefusedError` or `FailedError`."""
        body = await read_body(
            conversations, self.settings.max_bytes, "send fewer or shorter conversations"
        )
        found = await self.on_a_thread(lambda: read_conversations(body, self.settings))
        visit = visit_of(conversations.scope)
        visit.rows = len(found)
        await visit.spend(len(found))
        return answer(await self.on_a_thread(lambda: self.publish(found)))

    async def on_a_thread(self, work: Callable[[], T]) -> T:
        """Return what ``work`` does on one of so many threads; a refusal passes."""
        return await anyio.to_thread.run_sync(
            contained, "publishing", work, (RefusedError,), limiter=self.slots
        )

    def publish(self, conversations: Sequence[Conversation]) -> Outcome:
        """Return what comes of conversations, the audit kept."""
        outcome = publish(conversations, self.policy)
        self.audits.put(outcome.audit.id, json.dumps(outcome.audit.to_dict()).encode())
        return outcome


def answer(outcome: Outcome) -> Response:
    """Return the audited bytes, or the report that stands in their way."""
    headers = {"audit-id": outcome.audit.id}
    if outcome.body is not None:
        return Response(outcome.body, media_type="application/json", headers=headers)
    refused = {
        "error": "not published: the audit found in the answer what must not leave; "
        f"GET /audits/{outcome.audit.id} gives this report again",
        "audit": outcome.audit.to_dict(),
    }
    return JSONResponse(refused, HTTPStatus.CONFLICT, headers)


def audit_files(settings: SummariesSettings) -> AuditFiles:
    """Return where reports are kept."""
    return AuditFiles(settings.max_audits, settings.audit_seconds)


def rehearse(audits: AuditFiles) -> None:
    """Publish made-up conversations, so that what is missing shows now, and loads now.

    Raises
    ------
    ImportError, OSError
        Without the libraries, or a directory for the reports.
    """
    _ = audits.directory
    publish(generate(100), Policy(summarizer=keyword_summary, k_min=2))


class SummariesFront(FrontedService):
    """A service with audits to show."""

    settings_class = SummariesSettings

    def named_things(self) -> list[BaseRoute]:
        """Return the route of the reports."""
        return [Route(join_paths(self.path_prefix or "", "/audits/{name}"), audit, methods=["GET"])]


def audit(request: Request) -> Response:
    """Answer with the report of an audit."""
    try:
        report = audit_files(SummariesSettings.from_environment()).get(request.path_params["name"])
    except Exception as error:
        logger.error("%s", withheld("reading an audit", error))
        return JSONResponse({"error": "something went wrong"}, HTTPStatus.INTERNAL_SERVER_ERROR)
    if report is None:
        return JSONResponse(
            {"error": "there is no such audit, or not any more"}, HTTPStatus.NOT_FOUND
        )
    return Response(report, media_type="application/json")


def summaries_service(
    *,
    summarizer: Summarizer | None = None,
    redact: Callable[[str], str] | None = None,
    **options: Any,
) -> bentoml.Service[SummariesService]:
    """Make the service.

    Parameters
    ----------
    summarizer
        From a `dynaserve.canarybench.summarizers.Group` to a string, instead of what
        ``DYNASERVE_SUMMARIZER`` says. Several threads may call it; it may not keep a text.
    redact
        From a string to a string, instead of `dynaserve.redaction.redact`.
    options
        Those of ``bentoml.service``, such as ``image``.
    """
    return ready_made(
        SummariesFront,
        SummariesService,
        DESCRIPTION,
        options,
        summarizer=summarizer,
        redact=redact,
    )


Summaries = summaries_service()
