from __future__ import annotations

import re
from typing import Any

import bentoml
import pytest
from bentoml.exceptions import InvalidArgument
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from dynaserve.serving.access.gate import Gate
from dynaserve.serving.bounded import Bounded
from dynaserve.serving.front import FrontedService, KnownPaths
from dynaserve.serving.observed import Observed


class Echo:
    @bentoml.api
    def echo(self, text: str) -> str:
        if not text:
            raise InvalidArgument("empty")
        return text


class WithThings(FrontedService):
    def named_things(self) -> list[Route]:
        def thing(request: Request) -> PlainTextResponse:
            return PlainTextResponse(request.path_params["name"])

        return [Route("/things/{name}", thing, methods=["GET"])]


@pytest.fixture(scope="module")
def things(start: Any) -> Any:
    return start(bentoml.service(service_class=WithThings, metrics={"enabled": False})(Echo))


@pytest.fixture(scope="module")
def client(start: Any) -> Any:
    make = bentoml.service(
        service_class=FrontedService,
        description="It says what you say.",
        metrics={"enabled": False},
    )
    return start(make(Echo))


def test_the_page_and_all_that_it_loads_come_from_this_server(client: Any) -> None:
    page = client.request("GET", "/")
    assert page.status_code == 200
    assert "//" not in page.text
    loaded = re.findall(r'(?:href|src|url)[=:] ?"(\./[^"]+)"', page.text)
    assert len(loaded) == 3
    for path in loaded:
        assert client.request("GET", path.removeprefix(".")).status_code == 200


def test_the_browser_is_told_to_ask_nobody_else(client: Any) -> None:
    policy = client.request("GET", "/").headers["content-security-policy"]
    assert policy.startswith("default-src 'self'")
    assert "http" not in policy


def test_the_api_document_says_what_the_service_says(client: Any) -> None:
    info = client.request("GET", "/docs.json").json()["info"]
    assert (info["title"], info["description"]) == ("Echo", "It says what you say.")


@pytest.mark.parametrize("path", ["/livez", "/healthz", "/readyz", "/schema.json"])
def test_what_bentoml_serves_around_the_endpoint_stays(client: Any, path: str) -> None:
    assert client.request("GET", path).status_code == 200


def test_a_known_path_by_another_method_is_told_apart(client: Any) -> None:
    assert client.post("/echo", json={"text": "x"}).text == "x"
    assert client.request("GET", "/echo").status_code == 405


@pytest.mark.parametrize(
    "path",
    ["/4711", "/echo/4711", "/static_content/4711", "/static_content/../4711", "/livez4711"],
)
def test_an_unknown_path_is_not_found_and_not_repeated(client: Any, path: str) -> None:
    for method in ("GET", "POST", "4711"):
        answer = client.request(method, path)
        assert answer.status_code == 404
        assert list(answer.json()) == ["error"]
        assert "4711" not in answer.text


def test_our_layers_stand_around_and_bentomls_for_the_same_are_gone(client: Any) -> None:
    layers = [each.cls for each in client.app.user_middleware]
    assert layers[:4] == [Observed, Gate, Bounded, KnownPaths]
    rest = {layer.__name__ for layer in layers[4:]}
    assert rest <= {"AccessLogMiddleware", "ContextMiddleware"}


def test_every_answer_has_an_id_and_says_what_a_browser_may_do_with_it(client: Any) -> None:
    for path in ("/echo", "/4711", "/livez", "/"):
        headers = client.request("GET", path, headers={"x-request-id": "my-id.1"}).headers
        assert headers["x-request-id"] == "my-id.1"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers


def test_things_with_names_are_answered_outside_of_what_counts_paths(things: Any) -> None:
    assert things.request("GET", "/things/4711").text == "4711"
    answer = things.request("DELETE", "/things/4711")
    assert answer.status_code == 405
    assert "4711" not in answer.text
    assert things.request("GET", "/things/4711/4712").status_code == 404
    assert things.post("/echo", json={"text": "x"}).text == "x"


def test_a_websocket_to_an_unknown_path_is_closed(client: Any) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/4711", "root_path": "", "headers": [], "scheme": "ws"}
    client.loop.run_until_complete(client.app(scope, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_a_prefix_moves_the_page_too() -> None:
    make = bentoml.service(service_class=FrontedService, path_prefix="/v1")
    paths = {route.path for route in make(Echo).to_asgi().routes}
    assert {"/v1/", "/v1/docs.json", "/v1/static_content/swagger-ui.css", "/v1/echo"} <= paths


def test_a_service_behind_another_has_no_page() -> None:
    make = bentoml.service(service_class=FrontedService)
    paths = {route.path for route in make(Echo).to_asgi(is_main=False).routes}
    assert "/" not in paths
