from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse

from dynaserve.serving.access import gate as module
from dynaserve.serving.access.gate import Gate
from dynaserve.serving.access.gate import key_file as file_of
from dynaserve.serving.access.records import default_path
from dynaserve.serving.refused import RefusedError
from dynaserve.serving.settings import ServiceSettings
from dynaserve.serving.visit import KEY, Visit
from tests.serving.access.conftest import Clock, KeyFile, key_of

CLIENT, MONITOR, PLAIN = "a" * 12, "b" * 12, "c" * 12
VISITS: list[Visit] = []


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Spend as many rows as the query says, and name the client."""
    if scope["type"] != "http":
        return
    request = Request(scope, receive)
    visit = scope.setdefault(KEY, Visit(id=""))
    try:
        await visit.spend(int(request.query_params.get("rows", 0)))
    except RefusedError as error:
        response = JSONResponse({"reason": error.reason}, error.status)
    else:
        response = JSONResponse({"client": visit.client})
    await response(scope, receive, send)


async def seen(scope: Any, receive: Any, send: Any, gate: Gate) -> None:
    visit = scope[KEY] = Visit(id="1")
    VISITS.append(visit)
    await gate(scope, receive, send)


@pytest.fixture
def settings(key_file: KeyFile) -> ServiceSettings:
    key_file.put(CLIENT, requests_per_second=0.3, rows_per_day=10)
    key_file.put(MONITOR, role="monitor")
    key_file.put(PLAIN)
    return ServiceSettings(keys=str(key_file.path))


Ask = Callable[..., httpx.Response]


@pytest.fixture
def ask(settings: ServiceSettings) -> Ask:
    """Ask the app behind one gate for all requests of a test."""
    return asking(Gate(app, settings))


def asking(gate: Gate) -> Ask:
    def ask(path: str = "/predict", key: str | None = None, **options: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(
                lambda scope, receive, send: seen(scope, receive, send, gate),
                client=options.pop("client", ("127.0.0.1", 123)),
            )
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1"
            ) as client:
                headers = {} if key is None else {"authorization": f"Bearer {key}"}
                headers |= options.pop("headers", {})
                method = options.pop("method", "POST")
                return await client.request(method, path, headers=headers, **options)

        return asyncio.run(send())

    return ask


def reason() -> str | None:
    return VISITS[-1].refused


def test_a_key_lets_in_and_names_the_client(ask: Ask) -> None:
    answer = ask(key=key_of(PLAIN))
    assert (answer.status_code, answer.json()) == (200, {"client": PLAIN})
    assert ask(headers={"x-api-key": key_of(PLAIN)}).status_code == 200
    assert (VISITS[-1].client, reason()) == (PLAIN, None)
    # From anywhere, and for whatever page.
    far = ask(key=key_of(PLAIN), client=("192.0.2.9", 1), headers={"origin": "https://a.example"})
    assert far.status_code == 200


@pytest.mark.parametrize("path", ["/predict", "/", "/docs.json", "/metrics", "/livez/", "/4711"])
@pytest.mark.parametrize("key", [None, "", key_of("d" * 12), f"dyn_{CLIENT}_{'0' * 64}"])
def test_nothing_is_open_without_one(ask: Ask, path: str, key: str | None) -> None:
    answer = ask(path, key)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert list(answer.json()) == ["error"]
    assert "x-api-key: KEY" in answer.json()["error"]
    assert (VISITS[-1].client, reason()) == (None, "unauthenticated")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x-api-key": b"\xff\xfe\x00\x01"}, 401),
        ({"authorization": b"Bearer \xc3\x28"}, 401),
        ({"authorization": b"Bearer " + b"a" * 60_000}, 401),
        ({"authorization": "Basic dXNlcjpwYXNz"}, 401),
        ({"authorization": f"Digest {key_of(PLAIN)}"}, 401),
        ({"authorization": f"Bearer {key_of(PLAIN)}, Bearer {key_of(PLAIN)}"}, 401),
        ({"cookie": f"x-api-key={key_of(PLAIN)}"}, 401),
        ({"authorization": f"Bearer {key_of(PLAIN)}", "x-api-key": key_of(CLIENT)}, 400),
        ({"authorization": f"Bearer {key_of(PLAIN)}", "x-api-key": key_of(PLAIN)}, 200),
    ],
)
def test_odd_headers_get_a_status_and_are_not_repeated(
    ask: Ask, headers: dict[str, Any], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    answer = ask(headers=headers)
    assert answer.status_code == status
    if status != 200:
        assert "dyn_" not in answer.text
        assert list(answer.json()) == ["error"]
    assert caplog.messages == []


def test_a_key_in_the_address_is_none(ask: Ask) -> None:
    assert ask(f"/predict?api_key={key_of(PLAIN)}").status_code == 401


def test_a_header_that_comes_twice_is_refused(ask: Ask) -> None:
    twice = [("x-api-key", key_of(PLAIN))] * 2

    async def send() -> httpx.Response:
        gate = ask.__closure__[0].cell_contents  # type: ignore[attr-defined, index]
        transport = httpx.ASGITransport(gate)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post("/predict", headers=twice)

    assert asyncio.run(send()).status_code == 400


@pytest.mark.parametrize(
    "path", ["/livez", "/readyz", "/healthz", "/v2/health/live", "/v2/health/ready"]
)
def test_health_is_open_to_anybody(ask: Ask, path: str) -> None:
    for client in (("127.0.0.1", 1), ("192.0.2.9", 1)):
        assert ask(path, client=client, method="GET").status_code == 200
        bare = asking(Gate(app, ServiceSettings()))
        assert bare(path, client=client, method="GET").status_code == 200


def test_a_monitor_reads_metrics_and_nothing_else(ask: Ask) -> None:
    assert ask("/metrics", key_of(MONITOR)).status_code == 200
    for path in ("/predict", "/", "/metrics/", "/docs.json"):
        answer = ask(path, key_of(MONITOR))
        assert (answer.status_code, reason()) == (403, "forbidden")
        assert "for /metrics alone" in answer.json()["error"]
    assert VISITS[-1].client == MONITOR


def test_a_client_does_not_read_metrics(ask: Ask) -> None:
    answer = ask("/metrics", key_of(PLAIN))
    assert (answer.status_code, reason()) == (403, "forbidden")
    assert "keys create NAME --monitor" in answer.json()["error"]


def test_too_many_requests_are_refused_and_say_when_to_come_back(ask: Ask, clock: Clock) -> None:
    assert [ask(key=key_of(CLIENT)).status_code for _ in range(3)] == [200] * 3
    answer = ask(key=key_of(CLIENT))
    assert (answer.status_code, reason()) == (429, "rate")
    assert "0.3 requests per second" in answer.json()["error"]
    clock.step(int(answer.headers["retry-after"]))
    assert ask(key=key_of(CLIENT)).status_code == 200


def test_rows_are_taken_when_they_are_counted(ask: Ask, clock: Clock) -> None:
    key = key_of(CLIENT)
    assert ask("/predict?rows=8", key).status_code == 200
    clock.step(60)
    assert ask("/predict?rows=3", key).json() == {"reason": "budget"}
    assert ask("/predict?rows=2", key).status_code == 200
    assert ask("/predict?rows=11", key_of(PLAIN)).status_code == 200  # without a budget
    clock.step(60)
    assert ask("/predict?rows=11", key).status_code == 413


def test_the_services_own_limits_hold_for_keys_without_any(
    settings: ServiceSettings, clock: Clock
) -> None:
    settings = settings.model_copy(update={"requests_per_second": 0.1, "rows_per_day": 4})
    ask = asking(Gate(app, settings))
    assert ask("/predict?rows=5", key_of(PLAIN)).json() == {"reason": "too_large"}
    assert ask("/predict", key_of(PLAIN)).status_code == 429
    clock.step(100)
    assert ask("/predict?rows=10", key_of(CLIENT)).status_code == 200
    assert [ask("/metrics", key_of(MONITOR)).status_code for _ in range(5)] == [200] * 5


def test_limits_outlive_the_process_and_only_ids_are_kept(
    settings: ServiceSettings, state_directory: Path
) -> None:
    assert asking(Gate(app, settings))("/predict?rows=10", key_of(CLIENT)).status_code == 200
    assert asking(Gate(app, settings))("/predict?rows=1", key_of(CLIENT)).status_code == 429
    path = state_directory / "limits.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM counters")}
    assert names == {f"requests/{CLIENT}/10", f"rows/{CLIENT}/86400"}


def test_a_key_without_limits_never_touches_the_store(ask: Ask, state_directory: Path) -> None:
    assert ask("/predict?rows=1000000", key_of(PLAIN)).status_code == 200
    assert list(state_directory.iterdir()) == []


def test_keys_without_limits_need_no_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(blocked / "state"))
    keys = KeyFile(tmp_path / "few.toml")
    keys.put(PLAIN)
    settings = ServiceSettings(keys=str(keys.path))
    assert asking(Gate(app, settings))(key=key_of(PLAIN)).status_code == 200
    with pytest.raises(OSError, match="DYNASERVE_STATE_DIR"):
        Gate(app, settings.model_copy(update={"rows_per_day": 5}))
    keys.put(CLIENT, rows_per_day=5)
    with pytest.raises(OSError, match="DYNASERVE_STATE_DIR"):
        Gate(app, settings)


def test_a_store_that_fails_refuses_who_has_limits_and_nobody_else(
    ask: Ask, state_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (state_directory / "limits.sqlite").write_bytes(b"not a database" * 99)
    (state_directory / "limits.sqlite").chmod(0o600)
    with caplog.at_level(logging.ERROR):
        for _ in range(5):
            answer = ask(key=key_of(CLIENT))
            assert (answer.status_code, reason()) == (503, "unavailable")
            assert answer.headers["retry-after"] == "1"
    assert len(caplog.messages) == 1
    assert ask(key=key_of(PLAIN)).status_code == 200


def test_a_revoked_key_is_out_within_a_second(ask: Ask, key_file: KeyFile, ticks: Clock) -> None:
    ticks.step(1)
    assert ask(key=key_of(PLAIN)).status_code == 200
    key_file.path.write_text(key_file.path.read_text().split(f"[keys.{PLAIN}]")[0])
    ticks.step(1)
    assert ask(key=key_of(PLAIN)).status_code == 401
    key_file.path.write_text("")
    ticks.step(1)
    answer = ask(key=key_of(MONITOR))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


def test_whatever_goes_wrong_is_an_answer_and_lets_nobody_in(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("hush")

    monkeypatch.setattr(module, "presented_key", fail)
    answer = ask(key=key_of(PLAIN))
    assert (answer.status_code, reason()) == (500, "failed")
    assert "hush" not in answer.text + caplog.text
    assert "RuntimeError" in caplog.text


def test_what_the_app_raises_is_its_own(settings: ServiceSettings) -> None:
    async def failing(*_: Any) -> None:
        raise RuntimeError("the app's")

    with pytest.raises(RuntimeError, match="the app's"):
        asking(Gate(failing, settings))(key=key_of(PLAIN))


def test_without_keys_this_machine_alone_is_answered() -> None:
    ask = asking(Gate(app, ServiceSettings()))
    assert ask("/metrics").json() == {"client": None}
    assert ask("/predict?rows=1000000").status_code == 200
    answer = ask(client=("192.0.2.9", 1))
    assert (answer.status_code, reason()) == (403, "forbidden")
    assert "dynaserve keys create" in answer.json()["error"]
    page = ask(headers={"origin": "https://evil.example"})
    assert (page.status_code, reason()) == (403, "forbidden")
    assert "access-control-allow-origin" not in page.headers


def test_keys_in_the_state_directory_are_asked_for_without_being_named() -> None:
    bare = ServiceSettings()
    assert file_of(bare) is None
    default_path().parent.mkdir(mode=0o700)
    KeyFile(default_path()).put(PLAIN)
    assert file_of(bare) == default_path()
    ask = asking(Gate(app, bare))
    assert [ask().status_code, ask(key=key_of(PLAIN)).status_code] == [401, 200]


WORKER = """
from dynaserve.serving.access.gate import key_file
from dynaserve.serving.settings import ServiceSettings
print(key_file(ServiceSettings.from_environment()))
"""


def started() -> str:
    """Return the file of keys that a worker of this process has."""
    command = [sys.executable, "-c", WORKER]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_workers_do_as_their_supervisor_decided_with_keys_or_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert started() == "None"
    module.decide_keys(ServiceSettings())
    default_path().parent.mkdir(mode=0o700)
    KeyFile(default_path()).put(PLAIN)
    assert started() == "None"  # as its sisters, which started before
    assert file_of(ServiceSettings()) == default_path()  # the next supervisor
    module.decide_keys(ServiceSettings())
    default_path().unlink()
    assert started() == str(default_path())
    monkeypatch.setenv("DYNASERVE_KEYS", "")
    monkeypatch.setenv(module.KEYLESS, str(os.getppid()))  # another's
    KeyFile(default_path()).put(PLAIN)
    assert started() == str(default_path())


def test_a_supervisor_does_not_do_as_its_parent_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(module.KEYLESS, str(os.getppid()))
    default_path().parent.mkdir(mode=0o700)
    KeyFile(default_path()).put(PLAIN)
    module.decide_keys(ServiceSettings())
    assert file_of(ServiceSettings()) == default_path()
    assert started() == str(default_path())


def test_limits_without_keys_are_a_mistake() -> None:
    for limits in ({"requests_per_second": 1.0}, {"rows_per_day": 1}):
        with pytest.raises(ValueError, match="limit API keys, and there are none"):
            Gate(app, ServiceSettings(**limits))


def test_keys_or_a_store_that_cannot_be_used_are_said_at_the_start(
    settings: ServiceSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError, match="keys create"):
        Gate(app, ServiceSettings(keys=str(tmp_path / "none.toml")))
    with pytest.raises(ValueError, match="state: Redis' client"):
        Gate(app, settings.model_copy(update={"state": "redis://[::1"}))
    monkeypatch.setitem(sys.modules, "limits", None)
    with pytest.raises(ValueError, match=r"dynaserve\[serve\]"):
        Gate(app, settings)


@pytest.mark.parametrize("with_keys", [True, False])
def test_nothing_speaks_websocket(settings: ServiceSettings, with_keys: bool) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    gate = Gate(app, settings if with_keys else ServiceSettings())
    scope = {"type": "websocket", "path": "/livez", "headers": []}
    asyncio.run(gate(scope, receive, send))
    assert sent == ["websocket.close"]


def test_the_store_is_closed_with_the_server(settings: ServiceSettings) -> None:
    gate = Gate(app, settings)
    assert asking(gate)(key=key_of(CLIENT)).status_code == 200
    assert gate.door is not None
    storage: Any = gate.door.store.storage
    assert storage._connection is not None
    asyncio.run(gate({"type": "lifespan"}, None, None))  # type: ignore[arg-type]
    assert storage._connection is None
    asyncio.run(Gate(app, ServiceSettings())({"type": "lifespan"}, None, None))  # type: ignore[arg-type]
