"""BentoML services in this process, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest


class Client:
    """Sends requests to an ASGI app on an event loop that it owns."""

    def __init__(self, app: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.app, self.loop = app, loop
        # As a server would: an exception of the app is an answer, not the test's exception.
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self.loop.run_until_complete(self.http.request(method, path, **options))

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)

    def post_all(self, path: str, bodies: list[Any]) -> list[httpx.Response]:
        """Send all at once."""

        async def send() -> list[httpx.Response]:
            return await asyncio.gather(*(self.http.post(path, json=body) for body in bodies))

        return self.loop.run_until_complete(send())


@contextmanager
def running(service: Any) -> Iterator[Client]:
    loop = asyncio.new_event_loop()
    app = service.to_asgi()
    lifespan = app.router.lifespan_context(app)
    loop.run_until_complete(lifespan.__aenter__())
    client = Client(app, loop)
    try:
        yield client
    finally:
        loop.run_until_complete(client.http.aclose())
        loop.run_until_complete(lifespan.__aexit__(None, None, None))
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Any], Client]]:
    """Start services that live as long as the module's tests."""
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("BENTOML_HOME", str(tmp_path_factory.mktemp("bentoml")))
        yield lambda service: stack.enter_context(running(service))
