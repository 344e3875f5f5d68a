"""What goes into the anonymizer's endpoints and what comes out, as their API document says it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, cast

import bentoml
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.types import Receive
from typing_extensions import Self

from dynaserve.serving.requests import Unread, read_body


@dataclass(frozen=True)
class Heard(Unread):
    """The body of a request, and the client who may hang up."""

    receive: Receive = field(kw_only=True)

    @classmethod
    def of(cls, request: Request) -> Self:
        """Return the body of a request, unread."""
        unread = Unread.of(request)
        return cls(**vars(unread), receive=request.receive)

    async def body(self, max_bytes: int) -> bytearray:
        """Return all of it, as `read_body` does."""
        return await read_body(self, max_bytes, "send shorter texts, or fewer")

    async def hung_up(self) -> None:
        """Return when the client is gone; to be asked once the body is read."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


class HeardRequest(bentoml.IODescriptor):  # type: ignore[misc] # BentoML's SDK is untyped
    """A request whose body is handed over unread: BentoML's parser logs the values it refuses."""

    model_config = ConfigDict(hide_input_in_errors=True)

    @classmethod
    async def from_http_request(cls, request: Request, serde: Any) -> HeardRequest:  # noqa: ARG003
        """Put the whole body into the first field."""
        heard = Heard.of(request)
        return cast("HeardRequest", cls.model_construct(**{next(iter(cls.model_fields)): heard}))


class AnonymizeRequest(HeardRequest):
    """A text to anonymize."""

    text: Annotated[str, Field(description="What somebody wrote.")]
    attributes: Annotated[
        list[str] | None,
        Field(description="What must not be inferred from it; identifiers never may."),
    ] = None
    mode: Annotated[
        Literal["edit", "rewrite"] | None,
        Field(description="Replace words only, or have a model write the text anew."),
    ] = None


class BatchRequest(HeardRequest):
    """Texts to anonymize."""

    items: Annotated[
        list[Any], Field(description='Objects as POST /anonymize takes: {"text": "..."}.')
    ]


class Replacement(BaseModel):
    """What was replaced: code points, and UTF-16 units, of the text that was sent."""

    start: int
    end: int
    utf16_start: int
    utf16_end: int
    after: str
    attribute: str


class AnonymizeResponse(BaseModel):
    """What may be published."""

    text: str
    edits: list[Replacement]
    rounds: Annotated[
        list[dict[str, Any]], Field(description="What each round found, gained and cost.")
    ]
    status: Literal["clean", "anonymized", "stopped_rational"]


class BatchResponse(BaseModel):
    """An answer per item, in order, each with the code that it would have got alone."""

    items: list[dict[str, Any]]


class ReviewResponse(BaseModel):
    """What a person may decide about."""

    status: str
    reason: str
    marks: Annotated[
        list[dict[str, Any]], Field(description="Places, with their leaks and a replacement.")
    ]
