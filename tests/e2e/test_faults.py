"""What goes wrong around a service: hostile, slow and broken clients, workers that die, a stop.

Whatever happens, no answer is undefended, and nobody else goes without theirs.
"""

from __future__ import annotations

import gzip
import os
import random
import select
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import httpx
import numpy as np
import orjson
import pytest

from benchmarks.clients import Request
from benchmarks.load_connections import Crowd, Outcome
from tests.e2e.conftest import Server

pytestmark = pytest.mark.e2e

INFER = "/v2/models/digits/infer"
MALFORMED = 10_000
SENDERS = 16
UNMEASURED = {"COVERAGE_PROCESS_CONFIG": ""}
"""For a server: the lines that thousands of requests run are measured where a few run them."""


@pytest.fixture(scope="module")
def server(serve: Callable[..., Server]) -> Server:
    variables = {"DYNASERVE_LOGS": "json"} | UNMEASURED
    return serve(workers=2, body_seconds=5.0, max_concurrent=64, variables=variables)


@pytest.fixture(scope="module")
def wanted(server: Server, digits: Any) -> Any:
    """Return the one answer that keyed noise gives to the first digit."""
    return server.predict(digits[:1]).raise_for_status().json()


def body_of(rows: list[list[float]]) -> bytes:
    return orjson.dumps({"inputs": rows})


@contextmanager
def asking(server: Server, digits: Any, clients: int = 8) -> Iterator[list[Any]]:
    """Have clients ask for the first digit on connections kept open; give what each got, or not."""
    got: list[Any] = []
    stop = threading.Event()
    body = body_of(digits[:1])
    headers = {"content-type": "application/json"}

    def loop() -> None:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
        while not stop.is_set():
            try:
                connection.request("POST", "/predict", body, headers)
                answer = connection.getresponse()
                got.append((answer.status, orjson.loads(answer.read())))
            except Exception as error:  # noqa: PERF203 - whatever comes is what was got
                got.append(error)
                connection.close()
                time.sleep(0.05)
        connection.close()

    threads = [threading.Thread(target=loop) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield got
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def malformed(number: int, good: bytes) -> tuple[str, bytes, dict[str, str]]:
    """Return a path, a body and headers of which something is wrong; another for each number."""
    rng = random.Random(number)
    kind = number % 10
    json = {"content-type": "application/json"}
    cut = rng.randrange(1, len(good) - 1)
    flipped = bytearray(good)
    flipped[rng.randrange(10)] ^= 0xFF
    tensor = {"name": "inputs", "shape": [1, 64], "datatype": "FP32"}
    return (
        ("/predict", good[:cut], json),
        ("/predict", bytes(flipped), json),
        ("/predict", rng.randbytes(200), json),
        ("/predict", body_of([[float("nan")] * rng.randrange(1, 64)]), json),
        ("/predict", b"[" * rng.randrange(1, 900), json),
        (INFER, orjson.dumps({"inputs": [tensor | {"data": [1] * rng.randrange(64)}]}), {}),
        (INFER, rng.randbytes(300), {"inference-header-content-length": str(rng.randrange(600))}),
        (INFER, gzip.compress(good)[:20], {"content-encoding": "gzip"}),
        (f"/{rng.randrange(10**9)}", good, json),
        ("/predict", good, {"content-type": rng.choice(["text/plain", "application/xml"])}),
    )[kind]


def test_ten_thousand_malformed_requests_are_refused_and_change_nothing(
    server: Server, digits: Any, wanted: Any
) -> None:
    good = body_of(digits[:1])
    traces = server.logged().count("Traceback")

    def send(numbers: range) -> Counter[int]:
        got: Counter[int] = Counter()
        with closing(HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
            for number in numbers:
                answer = asked(connection, *malformed(number, good))
                assert list(orjson.loads(answer.read())) == ["error"]
                got[answer.status] += 1
        return got

    def asked(connection: HTTPConnection, *request: Any) -> HTTPResponse:
        try:
            connection.request("POST", *request)
            return connection.getresponse()
        except ConnectionError:  # the server has closed it: it was idle on a busy machine
            connection.close()
            connection.request("POST", *request)
            return connection.getresponse()

    with ThreadPoolExecutor(SENDERS) as pool:
        shares = [range(first, MALFORMED, SENDERS) for first in range(SENDERS)]
        seen = sum(pool.map(send, shares), Counter[int]())
    assert seen.total() == MALFORMED
    assert set(seen) <= {400, 404, 408, 413, 415}  # 408: of a body that a busy machine held up
    assert server.predict(digits[:1]).json() == wanted
    assert server.logged().count("Traceback") == traces


def test_slow_clients_cost_nobody_else_an_answer(server: Server, digits: Any, wanted: Any) -> None:
    head = b"POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(40)]
    try:
        for number, each in enumerate(slow):  # half of a head, or a body of which a byte comes
            each.sendall(head if number % 2 else head + b"content-length: 500\r\n\r\n{")
        with asking(server, digits) as got:
            time.sleep(3)
        assert got
        assert all(each == (200, wanted) for each in got)
        for number, each in enumerate(slow):
            if number % 2 == 0:
                each.settimeout(30)
                assert each.recv(100).startswith(b"HTTP/1.1 408 ")
    finally:
        for each in slow:
            each.close()


def test_a_small_body_that_unpacks_to_a_gigabyte_is_refused(server: Server) -> None:
    before = max(worker.memory_info().rss for worker in server.workers())
    bomb = gzip.compress(gzip.compress(bytes(2**30), 9), 1)
    inner = gzip.decompress(bomb)
    for _ in range(5):
        answer = httpx.post(
            server.url + INFER, content=inner, headers={"content-encoding": "gzip"}, timeout=60
        )
        assert answer.status_code == 413
    assert max(worker.memory_info().rss for worker in server.workers()) < before + 100 * 2**20


def test_a_worker_that_is_killed_under_load_costs_its_own_requests_alone(
    server: Server, digits: Any, wanted: Any
) -> None:
    with asking(server, digits) as got:
        time.sleep(1)
        killed = server.workers()[0].pid
        os.kill(killed, signal.SIGKILL)
        before = len(got)
        end = time.monotonic() + 60
        while time.monotonic() < end and (
            len(server.workers()) < 2 or killed in {each.pid for each in server.workers()}
        ):
            time.sleep(0.1)
        time.sleep(2)
    assert len(server.workers()) == 2
    answers = [each for each in got if isinstance(each, tuple)]
    assert all(each == (200, wanted) for each in answers)
    # At most one request of each client was with the worker that died.
    assert len(got) - len(answers) <= 8
    assert len(answers) > before


def test_more_requests_at_once_than_may_be_are_told_to_come_back_and_slow_ones_give_way(
    serve: Callable[..., Server], digits: Any
) -> None:
    small = serve(workers=1, max_concurrent=4, body_seconds=20.0)
    want = small.predict(digits[:1]).raise_for_status().json()
    head = (
        b"POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        b"content-length: 500\r\n\r\n{"
    )
    held = [socket.create_connection(("127.0.0.1", small.port), timeout=60) for _ in range(5)]
    try:
        for each in held:
            each.sendall(head)
        (refused,) = select.select(held, [], [], 60)[0]
        answer = refused.recv(4096)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1\r\n" in answer
        time.sleep(1.2)  # from then on a request that has not come whole is slow
        held.remove(refused)
        refused.close()
        assert httpx.get(f"{small.url}/livez").status_code == 200
        assert small.predict(digits[:1]).json() == want
        (slow,) = select.select(held, [], [], 60)[0]
        assert b"room for faster requests only" in slow.recv(4096)
    finally:
        for each in held:
            each.close()
    assert small.predict(digits[:1]).json() == want


def test_a_stop_under_load_loses_no_request_that_was_read(
    serve: Callable[..., Server], digits: Any
) -> None:
    """Of requests without an answer, `Outcome` tells those that were read from those that were not.

    A client may send the latter again; a request that was read and not answered is lost.
    """
    server = serve(workers=2, body_seconds=2.5)
    want = server.predict(digits[:1]).json()
    request = Request("/predict", body_of(digits[:1]), {"Content-Type": "application/json"})
    with (
        asking(server, digits, clients=4) as got,
        Crowd(server.port, request, 8, persistent=False) as crowd,
    ):
        time.sleep(2)
        assert server.process is not None
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(timeout=30)
        outcomes = crowd.stop().outcomes
    answers = [each for each in got if isinstance(each, tuple)]
    assert answers
    assert all(each == (200, want) for each in answers)
    assert outcomes[Outcome.ANSWERED]
    for grave in (Outcome.LOST, Outcome.REFUSED, Outcome.HUNG):
        assert outcomes[grave] == 0, outcomes
    np.testing.assert_array_equal(want["labels"], [0])
