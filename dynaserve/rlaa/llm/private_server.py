"""JSON to and from a server that may see texts as they are.

Every request goes to an address that was judged for it, not to a name that may have come to mean
another machine; no proxy is asked, no redirect followed. Errors of a request hold no words of what
was sent, nor the key, nor where the server is: they are shown to whoever sent the text. It needs
httpx, so it is imported late.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import ssl
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import httpx

from dynaserve.rlaa.llm.cancellation import check_cancelled
from dynaserve.rlaa.llm.private_network import PublicAddressError, addresses
from dynaserve.rlaa.llm.protocol import LLMError, UnavailableError

_TURN = 0.05
"""Seconds between two looks at whether the run is cancelled."""
_CONNECT_WITHIN = 5.0

_Answer = TypeVar("_Answer")


class PrivateServer:
    """A server at a loopback or private address.

    Parameters
    ----------
    base_url
        What paths are joined to; without a path of its own, ``/v1`` is meant.
    allow_remote
        Let it be a public address, by https.
    api_key
        Sent as a bearer token.
    timeout
        Seconds for an answer, all of it.

    Raises
    ------
    ValueError
        If the address is none. `PublicAddressError` is one.
    LLMError
        If there is no such host.
    """

    def __init__(
        self, base_url: str, *, allow_remote: bool, api_key: str | None, timeout: float
    ) -> None:
        self._base = _parsed(base_url)
        self._allow_remote, self._timeout = allow_remote, timeout
        self._headers = {"Host": self._base.netloc.decode("ascii")}
        if api_key:
            if not (api_key.isascii() and api_key.isprintable()):
                raise ValueError("api_key: has characters that no header can have")
            self._headers["Authorization"] = f"Bearer {api_key}"
        # Slow to make, so made once, and for http one that trusts nobody.
        self._tls = (
            httpx.create_ssl_context(trust_env=False)
            if self._base.scheme == "https"
            else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        )
        self._addresses()

    def __str__(self) -> str:
        return str(self._base)

    def post(self, path: str, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the status and the object that the server answers, empty unless that is 200.

        Raises
        ------
        CancelledError
            As soon as the run is cancelled; the connection is closed, which stops the server.
        UnavailableError
            If there is no answer in time, or it is no JSON object; if the server's name has come
            to mean no address, or a public one.
        """
        check_cancelled()
        targets = self._targets()
        here = contextvars.copy_context()
        # A thread of its own: there may be an event loop around us already.
        with ThreadPoolExecutor(1) as thread:
            response = thread.submit(here.run, asyncio.run, self._ask(targets, path, body)).result()
        if response.status_code != 200:
            return response.status_code, {}
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise UnavailableError("the model's server answered with no JSON object")
        return response.status_code, answer

    def _addresses(self) -> list[str]:
        port = self._base.port or (443 if self._base.scheme == "https" else 80)
        return addresses(
            self._base.host, port, scheme=self._base.scheme, allow_remote=self._allow_remote
        )

    def _targets(self) -> list[str]:
        """Return where the server is by now; what is said of it stays here."""
        try:
            return self._addresses()
        except PublicAddressError:
            fault = "the model's server has come to be at a public address, which gets no text"
        except LLMError:
            fault = "the model's server is not to be found"
        raise UnavailableError(fault)

    async def _ask(self, targets: list[str], path: str, body: Mapping[str, Any]) -> httpx.Response:
        try:
            return await asyncio.wait_for(
                _while_wanted(self._send(targets, path, body)), self._timeout
            )
        except asyncio.TimeoutError:
            raise UnavailableError(
                f"no answer of the model's server within {self._timeout:g} s"
            ) from None
        except httpx.HTTPError as error:
            raise UnavailableError(
                f"the model's server cannot be asked: {type(error).__name__}"
            ) from None

    async def _send(self, targets: list[str], path: str, body: Mapping[str, Any]) -> httpx.Response:
        url = self._base.join(path)
        content = json.dumps(body).encode("ascii")
        headers = self._headers | {"Content-Type": "application/json"}
        async with self._client() as client:
            for position, target in enumerate(targets, 1):
                request = client.build_request(
                    "POST",
                    url.copy_with(host=target),
                    content=content,
                    headers=headers,
                    extensions={"sni_hostname": self._base.host},
                )
                try:
                    return await client.send(request, follow_redirects=False)
                except (httpx.ConnectError, httpx.ConnectTimeout):
                    if position == len(targets):
                        raise
        raise UnavailableError("the model's server has no address")

    def _client(self) -> httpx.AsyncClient:
        timeout = httpx.Timeout(self._timeout, connect=_CONNECT_WITHIN)
        return httpx.AsyncClient(verify=self._tls, trust_env=False, timeout=timeout)


def _parsed(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url.strip())
    except httpx.InvalidURL:
        raise ValueError("base_url: no URL; it looks like http://127.0.0.1:8080/v1") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise ValueError("base_url: has to begin with http:// or https:// and name a host")
    if url.port is not None and not 1 <= url.port <= 65535:
        raise ValueError("base_url: its port has to be one of 1 to 65535")
    if url.userinfo or url.query or url.fragment:
        raise ValueError("base_url: scheme, host, port and path only; a key goes into api_key")
    return url.copy_with(path=(url.path.rstrip("/") or "/v1") + "/")


async def _while_wanted(work: Coroutine[Any, Any, _Answer]) -> _Answer:
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=_TURN))[0]:
            check_cancelled()
        return task.result()
    finally:
        task.cancel()
