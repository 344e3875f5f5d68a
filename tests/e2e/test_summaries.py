"""The promise of the summaries, kept by whole servers: what leaks does not leave."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dynaserve import __version__
from dynaserve.canarybench.canaries import KINDS, CanaryMint
from dynaserve.canarybench.corpus import generate
from dynaserve.redaction import find_personal

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
K_MIN = 10
ENVIRONMENT = {
    "DYNASERVE_K_MIN": str(K_MIN),
    "DYNASERVE_MAX_CONVERSATIONS": "500",
    "DYNASERVE_MAX_CHARACTERS": "2000",
}

KEYWORD = """
from dynaserve.serving.summaries import summaries_service
Summaries = summaries_service()
"""
EXTRACTIVE = """
import os
os.environ["DYNASERVE_SUMMARIZER"] = "extractive"
from dynaserve.serving.summaries import summaries_service
Summaries = summaries_service()
"""
LEAKY = """
from pathlib import Path
from dynaserve.canarybench.summarizers import Exemplars
from dynaserve.serving.summaries import summaries_service

def leak(group):
    with open(Path(__file__).with_name("seen"), "a") as seen:
        seen.write("\\n".join(group.texts) + "\\n")
    return Exemplars(count=20)(group)

Summaries = summaries_service(summarizer=leak, redact=str)
"""
SLOW = """
import time
from pathlib import Path
from dynaserve.serving.summaries import summaries_service

def sleep(group):
    Path(__file__).with_name("begun").touch()
    time.sleep(600)

Summaries = summaries_service(summarizer=sleep)
"""


@pytest.fixture(scope="module")
def deploy(serve: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Serve what a ``service.py`` says; each text is one server."""
    homes: dict[str, Path] = {}

    def deploy(code: str, **settings: Any) -> Any:
        if code not in homes:
            homes[code] = tmp_path_factory.mktemp("summaries")
            (homes[code] / "service.py").write_text(code)
        return serve(str(homes[code]), **settings)

    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        yield deploy


@pytest.fixture(scope="module")
def server(deploy: Any) -> Any:
    return deploy(KEYWORD, workers=2, max_bytes=2**20)


def talks(count: int = 300, seed: int = 0, *, personal: bool = False) -> list[dict[str, str]]:
    """Return conversations of the made-up corpus, if wanted with somebody's own data in each."""
    mint, kinds = CanaryMint(seed + 1000), tuple(KINDS)
    return [
        {
            "id": each.id,
            "user": each.user,
            "text": f"{each.text} It is {mint.draw(kinds[n % 8])}." if personal else each.text,
        }
        for n, each in enumerate(generate(count, seed=seed))
    ]


def post(server: Any, conversations: Any) -> httpx.Response:
    return httpx.post(f"{server.url}/summaries", json={"conversations": conversations}, timeout=300)


def values_in(texts: list[str]) -> set[str]:
    """Return what is personal in texts and long enough not to turn up by chance."""
    found = {text[start:end] for text in texts for start, end, _ in find_personal(text)}
    return {value for value in found if len(value) >= 6}


@pytest.mark.parametrize("personal", [False, True])
def test_safe_summaries_are_published_with_their_audit(server: Any, personal: bool) -> None:
    sent = talks(personal=personal)
    answer = post(server, sent)
    assert answer.status_code == 200
    clusters = answer.json()["clusters"]
    assert len(clusters) > 1
    assert all(cluster["users"] >= K_MIN for cluster in clusters)
    assert sum(cluster["conversations"] for cluster in clusters) <= len(sent)
    assert not [
        value for value in values_in([each["text"] for each in sent]) if value in answer.text
    ]
    audit = httpx.get(f"{server.url}/audits/{answer.headers['audit-id']}").json()
    assert audit["passed"]
    assert audit["sha256"] == hashlib.sha256(answer.content).hexdigest()
    assert audit["control"]["found"] == audit["looked_for"]["canaries"] > len(clusters)
    assert (audit["looked_for"]["personal_values"] > 0) == personal


def test_one_request_has_one_answer_whatever_was_planted(server: Any) -> None:
    assert len({post(server, talks()).content for _ in range(4)}) == 1


def test_an_extractive_summarizer_is_refused(deploy: Any) -> None:
    server = deploy(EXTRACTIVE)
    sent = talks(personal=True)
    answer = post(server, sent)
    assert answer.status_code == 409
    audit = answer.json()["audit"]
    assert audit["found"]["quote"] > 0
    assert not [
        value for value in values_in([each["text"] for each in sent]) if value in answer.text
    ]
    assert not [each for each in sent if each["text"][:40] in answer.text]
    assert httpx.get(f"{server.url}/audits/{audit['id']}").json() == audit


def test_a_summarizer_that_leaks_everything_gets_out_no_canary_and_no_personal_value(
    deploy: Any,
) -> None:
    server = deploy(LEAKY)
    sent = talks(personal=True)
    answer = post(server, sent)
    assert answer.status_code == 409
    audit = answer.json()["audit"]
    assert all(audit["found"][what] > 0 for what in ("canary", "personal", "quote"))
    assert audit["cluster_rate"]["value"] == 1
    seen = (Path(server.target) / "seen").read_text().splitlines()
    planted = {*seen} - {each["text"] for each in sent}
    assert len(planted) == audit["looked_for"]["canaries"]
    values = values_in(seen)
    assert len(values_in([*planted]) & values) >= len(planted)
    logged, state = server.logged(), Path(server.environment["DYNASERVE_STATE_DIR"])
    kept = "".join(path.read_text() for path in (state / "audits").iterdir())
    for value in values:
        assert value not in answer.text
        assert value not in logged
        assert value not in kept


def test_a_worker_that_is_killed_publishes_nothing(deploy: Any) -> None:
    server = deploy(SLOW)
    audits = Path(server.environment["DYNASERVE_STATE_DIR"]) / "audits"
    before = {*audits.iterdir()}
    answers: list[Any] = []

    def ask() -> None:
        try:
            answers.append(post(server, talks()))
        except httpx.TransportError as error:
            answers.append(error)

    client = threading.Thread(target=ask)
    client.start()
    while not (Path(server.target) / "begun").exists():
        assert client.is_alive(), answers
        time.sleep(0.05)
    (worker,) = server.workers()
    os.kill(worker.pid, signal.SIGKILL)
    client.join(timeout=60)
    assert isinstance(answers[0], httpx.TransportError)
    assert {*audits.iterdir()} == before
    server.stop()


def test_twenty_requests_at_once_stay_apart(server: Any) -> None:
    sent = [
        [
            each | {"text": f"{each['text']} The zorp{'abcdefghijklmnopqrst'[n]} again."}
            for each in talks(120, n)
        ]
        for n in range(20)
    ]

    async def send() -> list[httpx.Response]:
        async with httpx.AsyncClient(timeout=300) as client:
            url = f"{server.url}/summaries"
            return await asyncio.gather(
                *(client.post(url, json={"conversations": each}) for each in sent)
            )

    answers = asyncio.run(send())
    assert [answer.status_code for answer in answers] == [200] * 20
    assert len({answer.headers["audit-id"] for answer in answers}) == 20
    for n, answer in enumerate(answers):
        words = {word for word in answer.text.lower().replace('"', " ").split() if "zorp" in word}
        assert {word.strip(".,") for word in words} == {f"zorp{'abcdefghijklmnopqrst'[n]}"}
    for n in (0, 19):
        assert post(server, sent[n]).content == answers[n].content


SECRET = "jo.brandt42@example.com"
ONE = {"id": "a", "user": "u", "text": SECRET}


@pytest.mark.parametrize(
    ("conversations", "status", "message"),
    [
        (talks(12), 422, f"at least {K_MIN} different users are needed"),
        ([], 422, "these are of 0"),
        ([ONE | {"user": 7}], 400, 'conversation 0: its "user" is a number; send a string'),
        ([ONE, {"id": SECRET, "user": "u"}], 400, 'conversation 1 lacks "text"'),
        ([ONE, ONE], 400, "conversations 0 and 1 have the same id"),
        (SECRET, 400, "must be a list"),
        (talks(501), 413, "send at most 500 at once"),
        ([ONE | {"text": SECRET * 100}], 413, "has 2300 characters; send at most 2000"),
        ([ONE | {"text": SECRET * 50_000}], 413, "longer than 1048576 bytes"),
    ],
)
def test_a_request_that_cannot_be_answered_is_told_why(
    server: Any, conversations: Any, status: int, message: str
) -> None:
    answer = post(server, conversations)
    assert answer.status_code == status
    assert message in answer.json()["error"]
    assert SECRET not in answer.text + server.logged()


def test_what_is_not_json_is_refused(server: Any) -> None:
    url = f"{server.url}/summaries"
    headers = {"content-type": "text/plain"}
    assert httpx.post(url, content=SECRET, headers=headers).status_code == 415
    headers = {"content-type": "application/json"}
    answer = httpx.post(url, content=f'{{"{SECRET}', headers=headers)
    assert answer.status_code == 400
    assert SECRET not in answer.text + server.logged()


def test_audits_are_found_by_every_worker_and_counted_by_none(server: Any) -> None:
    assert len(server.workers()) == 2
    name = post(server, talks()).headers["audit-id"]
    for _ in range(20):  # a connection each, so that both workers get some
        assert httpx.get(f"{server.url}/audits/{name}").json()["id"] == name
    assert httpx.get(f"{server.url}/audits/{'0' * 32}").status_code == 404
    metrics = httpx.get(f"{server.url}/metrics").text
    assert name not in metrics
    assert 'dynaserve_requests_total{endpoint="/summaries",status="200"}' in metrics


def test_it_listens_on_loopback_only(server: Any) -> None:
    listening = {
        connection.laddr.ip
        for process in [server.workers()[0].parent(), *server.workers()]
        for connection in process.net_connections("tcp")
        if connection.status == "LISTEN" and connection.laddr.port == server.port
    }
    assert listening == {"127.0.0.1"}


def test_a_wrong_setting_is_one_line_before_anything_is_served(
    environment: dict[str, str], tmp_path: Path
) -> None:
    target = "dynaserve.serving.summaries:Summaries"
    done = subprocess.run(
        [sys.executable, "-m", "bentoml", "serve", target],
        env=os.environ | environment | {"DYNASERVE_K_MIN": "1", "BENTOML_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert "DYNASERVE_K_MIN" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout


@pytest.fixture(scope="module")
def bento(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("store")
    done = subprocess.run(
        [sys.executable, "-m", "bentoml", "build", "--version", "built"],
        cwd=ROOT / "bentos" / "summaries",
        env=os.environ | {"BENTOML_HOME": str(home), "BENTOML_DO_NOT_TRACK": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "bentos" / "summaries" / "built"


def test_the_bento_carries_the_source_and_what_the_audit_needs(bento: Path) -> None:
    lines = (bento / "env" / "python" / "requirements.txt").read_text().splitlines()
    assert f"dynaserve@file:./wheels/dynaserve-{__version__}.tar.gz" in lines
    names = {line.partition("==")[0] for line in lines}
    assert {"bentoml", "phonenumbers", "pyahocorasick", "rapidfuzz", "scikit-learn"} <= names
    with tarfile.open(bento / "src" / "wheels" / f"dynaserve-{__version__}.tar.gz") as archive:
        assert any(name.endswith("dynaserve/serving/summaries.py") for name in archive.getnames())


@pytest.mark.usefixtures("deploy")  # for the variables
def test_the_built_bento_serves(bento: Path, serve: Any) -> None:
    assert post(serve(str(bento)), talks()).status_code == 200
