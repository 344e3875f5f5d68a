"""API keys and their limits in front of a real server with several workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from dynaserve.cli import app
from dynaserve.serving.settings import ServeSettings
from tests.e2e.conftest import CLASSIFIER, Server
from tests.serving.access.conftest import Redis, redis

pytestmark = pytest.mark.e2e
__all__ = ["redis"]

ROW = [[0.0] * 64]
BUDGET = 5


class Keys:
    """The command line over one file of keys."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, *arguments: str) -> Any:
        told = ["keys", *arguments, "--json", "--file", str(self.path)]
        return json.loads(CliRunner().invoke(app, told, catch_exceptions=False).stdout)

    def create(self, name: str, *options: str) -> str:
        return str(self("create", name, *options)["key"])


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(tmp_path_factory.mktemp("keys") / "api_keys.toml")


@pytest.fixture(scope="module")
def made(keys: Keys) -> dict[str, str]:
    """Return keys that are there before the servers start, each for one test."""
    plain = ("both", "asks", "spends", "errs", "quiet", "shares", "comes later")
    own = ("--rows-per-day", "1000")
    return {name: keys.create(name) for name in plain} | {
        "has its own": keys.create("has its own", *own),
        "hurries": keys.create("hurries", "--requests-per-second", "0.001", *own),
        "monitor": keys.create("monitor", "--monitor"),
    }


@pytest.fixture(scope="module")
def guarded(serve: Callable[..., Server], keys: Keys, made: dict[str, str]) -> Server:
    """Start two workers that ask for keys, with a budget for those that have none of their own."""
    variables = {"DYNASERVE_KEYS": str(keys.path), "DYNASERVE_ROWS_PER_DAY": str(BUDGET)}
    return serve(variables=variables, workers=2)


@pytest.fixture(scope="module")
def unguarded(serve: Callable[..., Server]) -> Server:
    """Start a server on all addresses that has no keys."""
    return serve(variables={"DYNASERVE_HOST": "0.0.0.0"})


def predict(server: Server, key: str, rows: int = 1, **headers: str) -> httpx.Response:
    headers = {"authorization": f"Bearer {key}"} | headers
    return httpx.post(f"{server.url}/predict", json={"inputs": ROW * rows}, headers=headers)


def predict_all(server: Server, key: str, requests: int) -> list[httpx.Response]:
    """Ask at once, each on a connection of its own, which reach every worker."""
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda _: predict(server, key), range(requests)))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/predict"),
        ("GET", "/"),
        ("GET", "/docs.json"),
        ("GET", "/metrics"),
        ("GET", "/v2"),
        ("POST", "/v2/models/digits/infer"),
        ("GET", "/4711"),
    ],
)
def test_nothing_but_health_is_open_without_a_key(guarded: Server, method: str, path: str) -> None:
    answer = httpx.request(method, guarded.url + path)
    assert (answer.status_code, list(answer.json())) == (401, ["error"])
    assert answer.headers["www-authenticate"] == "Bearer"
    for health in ("/livez", "/readyz", "/healthz", "/v2/health/live", "/v2/health/ready"):
        assert httpx.get(guarded.url + health).status_code == 200


def test_a_key_opens_both_ways_in(guarded: Server, made: dict[str, str]) -> None:
    key = made["both"]
    assert predict(guarded, key).status_code == 200
    answer = httpx.get(f"{guarded.url}/v2", headers={"x-api-key": key})
    assert (answer.status_code, answer.json()["name"]) == (200, "dynaserve")
    assert httpx.get(guarded.url, headers={"x-api-key": key}).status_code == 200


def test_a_monitor_reads_the_metrics_alone(guarded: Server, made: dict[str, str]) -> None:
    key = made["monitor"]
    told = {"authorization": f"Bearer {key}"}
    assert httpx.get(f"{guarded.url}/metrics", headers=told).status_code == 200
    assert predict(guarded, key).status_code == 403
    told = {"authorization": f"Bearer {made['asks']}"}
    assert httpx.get(f"{guarded.url}/metrics", headers=told).status_code == 403


def test_a_budget_is_held_to_the_row_over_workers_ways_in_and_restarts(
    guarded: Server, made: dict[str, str]
) -> None:
    key, other = made["spends"], made["has its own"]
    assert predict(guarded, key, BUDGET + 1).status_code == 413
    answers = predict_all(guarded, key, 24)
    assert Counter(answer.status_code for answer in answers) == {200: BUDGET, 429: 24 - BUDGET}
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert 0 < int(refused.headers["retry-after"]) <= 2 * 86_400
    assert list(refused.json()) == ["error"]
    tensor = {"name": "inputs", "shape": [1, 64], "datatype": "FP32", "data": [0.0] * 64}
    binary = httpx.post(
        f"{guarded.url}/v2/models/digits/infer",
        json={"inputs": [tensor]},
        headers={"x-api-key": key},
    )
    assert (binary.status_code, list(binary.json())) == (429, ["error"])
    guarded.restart()
    assert predict(guarded, key).status_code == 429
    assert predict(guarded, other, 999).status_code == 200
    assert predict(guarded, other, 2).status_code == 429


def test_rows_that_are_refused_for_what_they_are_cost_nothing(
    guarded: Server, made: dict[str, str]
) -> None:
    key = made["errs"]
    told = {"authorization": f"Bearer {key}"}
    for body in ({"inputs": [[1.0]] * 5}, {"inputs": "x"}, {}):
        answer = httpx.post(f"{guarded.url}/predict", json=body, headers=told)
        assert answer.status_code == 400
    assert predict(guarded, key, BUDGET).status_code == 200


def test_a_rate_is_held_over_workers(guarded: Server, made: dict[str, str]) -> None:
    found = Counter(answer.status_code for answer in predict_all(guarded, made["hurries"], 24))
    assert found == {200: 1, 429: 23}  # one in a thousand seconds


def test_a_revoked_key_is_refused_by_every_worker_within_seconds(
    guarded: Server, keys: Keys
) -> None:
    fresh = keys("create", "leaves", "--rows-per-day", "1000")
    time.sleep(1.1)
    assert {each.status_code for each in predict_all(guarded, fresh["key"], 16)} == {200}
    keys("revoke", fresh["id"])
    time.sleep(1.1)
    assert {each.status_code for each in predict_all(guarded, fresh["key"], 32)} == {401}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (b"x-api-key: \xff\xfe\xc3\x28\r\n", 401),
        (b"authorization: Bearer \r\n", 401),
        (b"authorization:\r\nx-api-key:\r\n", 401),
        (b"authorization: Bearer a\r\nx-api-key: b\r\n", 400),
        (b"x-api-key: a\r\nX-API-KEY: a\r\n", 400),
        (b"authorization: Bearer a\r\nauthorization: Bearer a\r\n", 400),
        (b"authorization: Bearer " + b"a" * 8000 + b"\r\n", 401),
        (b"authorization: Bearer dyn_" + b"0" * 12 + b"_" + b"0" * 64 + b"\r\n", 401),
    ],
)
def test_odd_headers_get_their_status(guarded: Server, headers: bytes, status: int) -> None:
    request = b"GET /v2 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n" + headers + b"\r\n"
    with socket.create_connection(("127.0.0.1", guarded.port), timeout=30) as connection:
        connection.sendall(request)
        line = connection.makefile("rb").readline()
    assert line.split()[1] == str(status).encode()


def test_no_key_gets_into_the_log_or_the_metrics(guarded: Server, made: dict[str, str]) -> None:
    key, monitor = made["quiet"], made["monitor"]
    predict(guarded, key)
    predict(guarded, key[:-1] + ("0" if key[-1] != "0" else "1"))
    told = {"authorization": f"Bearer {monitor}"}
    metrics = httpx.get(f"{guarded.url}/metrics", headers=told).text
    for each in (key, monitor):
        assert each[-60:] not in guarded.logged() + metrics


def test_without_keys_only_this_machine_is_answered(unguarded: Server) -> None:
    assert unguarded.predict(ROW).status_code == 200
    outside = own_address()
    answer = httpx.post(f"http://{outside}:{unguarded.port}/predict", json={"inputs": ROW})
    assert answer.status_code == 403
    assert "dynaserve keys create" in answer.json()["error"]
    assert httpx.get(f"http://{outside}:{unguarded.port}/readyz").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example:3000"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"x-forwarded-for": "192.0.2.9"}, 403),
        ({"x-forwarded-for": "127.0.0.1"}, 403),
        ({"forwarded": "for=127.0.0.1"}, 403),
        ({"host": "localhost:8080", "origin": "http://localhost:8080"}, 200),
    ],
)
def test_without_keys_no_page_and_no_proxy_gets_an_answer(
    unguarded: Server, headers: dict[str, str], status: int
) -> None:
    answer = httpx.post(f"{unguarded.url}/predict", json={"inputs": ROW}, headers=headers)
    assert answer.status_code == status
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_worker_that_comes_when_there_are_keys_answers_as_the_others_do(
    environment: dict[str, str], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    told = ServeSettings(workers=2).to_environment() | environment
    told |= {"BENTOML_HOME": str(tmp_path / "home"), "DYNASERVE_STATE_DIR": str(state)}
    server = Server(CLASSIFIER, told, tmp_path / "log")
    server.start()
    try:
        Keys(state / "api_keys.toml").create("late")
        killed = server.workers()[0].pid
        os.kill(killed, signal.SIGKILL)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(0.1)
            there = [each.pid for each in server.workers()]
            if len(there) == 2 and killed not in there:
                break
        clients = server.kept_open()  # by which every worker is asked
        assert {server.predict(ROW, client).status_code for client in clients} == {200}
        for client in clients:
            client.close()
        server.restart()
        assert server.predict(ROW).status_code == 401
    finally:
        server.stop()


def test_a_page_elsewhere_is_not_allowed_to_send_json_either(unguarded: Server) -> None:
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    answer = httpx.options(f"{unguarded.url}/predict", headers=asked)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def own_address() -> str:
    """Return an address of this machine that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no other address than loopback")
        address = str(probe.getsockname()[0])
    if address.startswith("127."):
        pytest.skip("this machine has no other address than loopback")
    return address


@pytest.fixture
def counting(
    serve: Callable[..., Server],
    keys: Keys,
    made: dict[str, str],
    redis: Redis,
) -> Iterator[Server]:
    """Start a server that counts in a Redis."""
    server = serve(
        variables={
            "DYNASERVE_KEYS": str(keys.path),
            "DYNASERVE_ROWS_PER_DAY": str(BUDGET),
            "DYNASERVE_STATE": redis.url,
        },
        workers=2,
    )
    yield server
    server.stop()


def test_budgets_are_held_in_redis_and_without_it_nothing_is_answered(
    counting: Server, made: dict[str, str], redis: Redis
) -> None:
    key, other = made["shares"], made["comes later"]
    found = Counter(answer.status_code for answer in predict_all(counting, key, 24))
    assert found == {200: BUDGET, 429: 24 - BUDGET}
    redis.kill()
    down = predict_all(counting, other, 8)
    assert {answer.status_code for answer in down} == {503}
    assert {answer.headers["retry-after"] for answer in down} == {"1"}
    assert httpx.get(f"{counting.url}/readyz").status_code == 200
    redis.start()
    time.sleep(1.1)
    assert predict(counting, other, BUDGET).status_code == 200
    assert predict(counting, other).status_code == 429
