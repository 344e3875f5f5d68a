from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bentoml.exceptions import BentoMLConfigException, InvalidArgument

from dynaserve.canarybench import audit as audit_module
from dynaserve.canarybench.corpus import generate
from dynaserve.canarybench.summarizers import Exemplars, Group, keyword_summary
from dynaserve.serving.summaries import (
    ClusterSummary,
    SummariesResponse,
    SummariesService,
    summaries_service,
)

SECRET = "jo.brandt42@example.com"
SETTINGS = {
    "DYNASERVE_K_MIN": "5",
    "DYNASERVE_MAX_CONVERSATIONS": "150",
    "DYNASERVE_MAX_BYTES": "100000",
    "DYNASERVE_MAX_CHARACTERS": "1000",
    "DYNASERVE_MAX_VALUES": "5",
    "DYNASERVE_THREADS": "4",
}


def talks(count: int = 80, seed: int = 1) -> list[dict[str, str]]:
    return [
        {"id": each.id, "user": each.user, "text": each.text} for each in generate(count, seed=seed)
    ]


class Doing:
    """A summarizer that does as the test says."""

    def __init__(self) -> None:
        self.act: Callable[[Group], str] = keyword_summary

    def __call__(self, group: Group) -> str:
        return self.act(group)


DOING = Doing()


@pytest.fixture(autouse=True)
def harmless() -> None:
    DOING.act = keyword_summary


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def client(start: Callable[[Any], Any], state: Path) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DYNASERVE_STATE_DIR", str(state))
        for name, value in SETTINGS.items():
            patch.setenv(name, value)
        yield start(summaries_service(summarizer=DOING, redact=str, metrics={"enabled": False}))


def post(client: Any, conversations: Any) -> Any:
    return client.post("/summaries", json={"conversations": conversations})


def test_safe_conversations_get_audited_bytes(client: Any) -> None:
    answer = post(client, talks())
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert set(answer.json()) == set(SummariesResponse.model_fields)
    assert set(answer.json()["clusters"][0]) == set(ClusterSummary.model_fields)
    audit = client.request("GET", f"/audits/{answer.headers['audit-id']}").json()
    assert audit["passed"]
    assert audit["sha256"] == hashlib.sha256(answer.content).hexdigest()


def test_counts_are_those_of_the_real_conversations(client: Any) -> None:
    sent = [item | {"user": f"u{n}"} for n, item in enumerate(talks(9))]  # one cluster's worth
    (cluster,) = post(client, sent).json()["clusters"]
    assert (cluster["users"], cluster["conversations"]) == (9, 9)


def test_a_leak_is_refused_with_a_report_that_masks_it(client: Any, state: Path) -> None:
    DOING.act = Exemplars(count=50)
    sent = talks()
    sent[7]["text"] += f" Write to {SECRET}."
    answer = post(client, sent)
    assert answer.status_code == 409
    assert set(answer.json()) == {"error", "audit"}
    found = answer.json()["audit"]["found"]
    assert found["canary"] >= 1
    assert found["personal"] >= 1
    assert found["quote"] >= 1
    kept = client.request("GET", f"/audits/{answer.headers['audit-id']}")
    assert kept.json() == answer.json()["audit"]
    written = "".join(path.read_text() for path in (state / "audits").iterdir())
    for text in (SECRET, SECRET[:11], *(item["text"] for item in sent)):
        assert text not in answer.text
        assert text not in written


def test_no_value_that_the_summarizer_saw_is_in_the_refusal(client: Any) -> None:
    seen: list[str] = []

    def leak(group: Group) -> str:
        seen.extend(group.texts)
        return " ".join(group.texts)

    DOING.act = leak
    sent = talks()
    answer = post(client, sent)
    assert answer.status_code == 409
    canaries = set(seen) - {item["text"] for item in sent}
    assert len(canaries) == answer.json()["audit"]["looked_for"]["canaries"]
    real = set(" ".join(item["text"] for item in sent).split())
    for text in canaries:
        for word in set(text.split()) - real:
            value = word.strip(".,!?")
            if len(value) >= 6 and any(map(str.isdigit, value)):  # no accident in a hash
                assert value not in answer.text


@pytest.mark.parametrize(
    ("conversations", "status", "message"),
    [
        (talks(3), 422, "at least 5 different users are needed"),
        ([], 422, "these are of 0"),
        ([{"id": SECRET}], 400, 'conversation 0 lacks "user"'),
        (SECRET, 400, "must be a list"),
        (talks(151), 413, "send at most 150 at once"),
        ([{"id": "a", "user": "u", "text": "x" * 1001}], 413, "send at most 1000"),
        (["x" * 100_000], 413, "longer than 100000 bytes"),
        (
            [item | {"text": f"{SECRET}{n}"} for n, item in enumerate(talks(30))],
            413,
            "more than 5 different personal values",
        ),
    ],
)
def test_a_refusal_says_what_would_be_right_and_quotes_nothing(
    client: Any, conversations: Any, status: int, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = post(client, conversations)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert message in answer.json()["error"]
    assert SECRET not in answer.text + caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    "media_type", ["application/vnd.bentoml+pickle", "text/plain", "multipart/form-data"]
)
def test_what_is_not_json_is_refused_unread(client: Any, media_type: str) -> None:
    answer = client.post("/summaries", content=b"{", headers={"content-type": media_type})
    assert answer.status_code == 415


@pytest.mark.parametrize(
    "failure",
    [RuntimeError(SECRET), KeyError(SECRET), InvalidArgument(SECRET), SystemExit(SECRET)],
    ids=lambda failure: type(failure).__name__,
)
def test_a_failure_publishes_nothing_and_tells_nothing(
    client: Any, state: Path, failure: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Group) -> str:
        raise failure

    DOING.act = fail
    before = {*(state / "audits").glob("*")}
    answer = post(client, talks())
    assert answer.status_code == 500
    assert answer.json() == {"error": "something went wrong; nothing was published"}
    assert "audit-id" not in answer.headers
    assert {*(state / "audits").glob("*")} == before
    assert type(failure).__name__ in caplog.text
    assert SECRET not in caplog.text


def test_an_audit_that_could_find_nothing_is_a_failure(
    client: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Blind:
        def __init__(self, canaries: Any) -> None: ...

        def find_in_fields(self, _: Any) -> list[Any]:
            return []

    monkeypatch.setattr(audit_module, "Matcher", Blind)
    assert post(client, talks()).status_code == 500
    assert "ControlError" in caplog.text


def test_a_report_that_cannot_be_kept_holds_the_answer_back(
    client: Any, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNASERVE_STATE_DIR", "/dev/null/nowhere")
    assert post(client, talks()).status_code == 500
    assert client.request("GET", f"/audits/{'0' * 32}").status_code == 500
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(state))
    assert post(client, talks()).status_code == 200


def test_nothing_of_a_request_is_logged(client: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    DOING.act = Exemplars()
    sent = talks()
    assert post(client, sent).status_code == 409
    assert not [item for item in sent if item["text"] in caplog.text or item["user"] in caplog.text]


def test_twenty_requests_at_once_get_the_answers_that_they_get_alone(client: Any) -> None:
    bodies = [{"conversations": talks(60, seed=seed)} for seed in range(20)]
    together = client.post_all("/summaries", bodies)
    assert {answer.status_code for answer in together} == {200}
    assert len({answer.headers["audit-id"] for answer in together}) == 20
    for body, answer in [*zip(bodies, together, strict=True)][::5]:
        assert client.post("/summaries", json=body).content == answer.content


def test_one_request_is_refused_and_those_beside_it_are_not(client: Any) -> None:
    def leak(group: Group) -> str:
        leaking = any(SECRET in text for text in group.texts)
        return " ".join(group.texts) if leaking else keyword_summary(group)

    DOING.act = leak
    bad = [item | {"text": f"{item['text']} {SECRET}"} for item in talks(40)]
    bodies = [{"conversations": bad if n % 2 else talks(40, seed=n)} for n in range(8)]
    answers = client.post_all("/summaries", bodies)
    assert [answer.status_code for answer in answers] == [200, 409] * 4
    assert not [answer for answer in answers if SECRET in answer.text]


def test_requests_are_worked_on_side_by_side(client: Any) -> None:
    barrier = threading.Barrier(4)

    def meet(_: Group) -> str:
        barrier.wait(timeout=60)
        return "Something."

    DOING.act = meet
    sent = [item | {"user": f"u{n}"} for n, item in enumerate(talks(9))]  # one cluster each
    answers = client.post_all("/summaries", [{"conversations": sent}] * 4)
    assert [answer.status_code for answer in answers] == [200] * 4


@pytest.mark.parametrize("name", ["0" * 32, "x", "..%2fmanifest", "0" * 31])
def test_an_unknown_audit_is_not_found_and_not_repeated(client: Any, name: str) -> None:
    answer = client.request("GET", f"/audits/{name}")
    assert answer.status_code == 404
    assert list(answer.json()) == ["error"]
    assert name not in answer.text


def test_an_audit_can_only_be_read(client: Any) -> None:
    assert client.request("DELETE", f"/audits/{'0' * 32}").status_code == 405
    assert client.request("GET", "/summaries").status_code == 405
    assert client.request("GET", "/audits").status_code == 404


def test_the_published_schema_says_what_goes_in_and_out(client: Any) -> None:
    (route,) = client.request("GET", "/schema.json").json()["routes"]
    assert route["route"] == "/summaries"
    assert route["input"]["required"] == ["conversations"]
    assert set(route["output"]["properties"]) == {"clusters", "suppressed_clusters", "coherence"}
    document = client.request("GET", "/docs.json").json()
    assert document["info"]["title"] == "Summaries"
    assert "GET /audits/{id}" in document["info"]["description"]


def test_a_mistake_in_the_settings_stops_the_server_before_its_workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("DYNASERVE_SUMMARIZER", "verbatim")
    with pytest.raises(BentoMLConfigException, match="DYNASERVE_SUMMARIZER"):
        SummariesService.check()
    with pytest.raises(BentoMLConfigException, match="DYNASERVE_SUMMARIZER"):
        summaries_service()
    monkeypatch.delenv("DYNASERVE_SUMMARIZER")
    (tmp_path / "audits").write_text("a file")
    with pytest.raises(BentoMLConfigException, match="DYNASERVE_STATE_DIR"):
        SummariesService.check()


def test_own_settings_of_bentoml_come_first() -> None:
    service = summaries_service(name="Mine", traffic={"timeout": 7})
    assert service.name == "Mine"
    assert service.config["traffic"]["timeout"] == 7
    assert json.loads(json.dumps(service.config["http"]))["host"] == "127.0.0.1"
