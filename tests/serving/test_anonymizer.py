from __future__ import annotations

import asyncio
import json
import logging
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from bentoml.exceptions import BentoMLConfigException

from dynaserve.rlaa import Anonymizer
from dynaserve.rlaa.llm import OpenAICompatibleLLM
from dynaserve.rlaa.llm.cancellation import is_cancelled
from dynaserve.rlaa.records import Edit, Judgement, Leak, Level, Result, Round, Span, Status
from dynaserve.rlaa.utility import Utility
from dynaserve.serving.anonymizer import AnonymizerService, anonymizer_service
from dynaserve.serving.anonymizer_api import AnonymizeResponse, Replacement, ReviewResponse
from dynaserve.serving.bounded import Bounded

SECRET = "jo.brandt42@example.com"
TEXT = f"🙂 Write to {SECRET}."
CLEANED = "🙂 Write to [EMAIL]."
SETTINGS = {
    "DYNASERVE_MAX_BYTES": "20000",
    "DYNASERVE_MAX_CHARACTERS": "1000",
    "DYNASERVE_MAX_ITEMS": "5",
    "DYNASERVE_MAX_PENDING": "3",
    "DYNASERVE_SECONDS": "3",
    "DYNASERVE_BODY_SECONDS": "3",
}
AT = TEXT.index(SECRET)
JUDGED = Judgement(
    Leak("identifier", "email", SECRET, 5),
    Level.HIGH,
    f"it says {SECRET}",
    0.9,
    (Span(AT, AT + len(SECRET)),),
)
EDIT = Edit(JUDGED.spans[0], SECRET, "[EMAIL]", "identifier")
JSON = {"content-type": "application/json"}
SCOPE: dict[str, Any] = {
    "type": "http", "http_version": "1.1", "method": "POST", "path": "/anonymize",
    "raw_path": b"/anonymize", "query_string": b"", "root_path": "", "scheme": "http",
    "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
    "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
}  # fmt: skip


def anonymized(text: str = TEXT) -> Result:
    assert text == TEXT
    rounds = (
        Round((JUDGED,), (EDIT,), CLEANED, mpg=0.9, muc=0.09, mrs=0.1),
        Round((), text=CLEANED),
    )
    return Result(Status.ANONYMIZED, CLEANED, rounds, edits=(EDIT,))


def exhausted(_: str = TEXT) -> Result:
    rounds = (Round((JUDGED,), text=TEXT),)
    return Result(Status.BUDGET_EXHAUSTED, None, rounds, (JUDGED,), "1 leak is left open")


class Doing:
    """An anonymizer that does as the test says."""

    def __init__(self) -> None:
        self.act: Callable[[str], Result] = anonymized
        self.asked: list[Sequence[str] | None] = []

    def run(self, text: str, *, attributes: Sequence[str] | None = None) -> Result:
        self.asked.append(attributes)
        return self.act(text)


DOING = Doing()


@pytest.fixture(autouse=True)
def as_usual() -> None:
    DOING.act = anonymized
    DOING.asked.clear()


@pytest.fixture(scope="module")
def client(start: Callable[[Any], Any]) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SETTINGS.items():
            patch.setenv(name, value)
        yield loaded(
            start(anonymizer_service(anonymizer=lambda: DOING, metrics={"enabled": False}))
        )


def loaded(client: Any) -> Any:
    while client.request("GET", "/readyz").status_code != 200:
        time.sleep(0.01)
    return client


def post(client: Any, text: Any = TEXT, path: str = "/anonymize", **fields: Any) -> Any:
    return client.post(path, json={"text": text, **fields})


def test_a_releasable_text_comes_back_with_its_edits_and_without_what_was_there(
    client: Any,
) -> None:
    answer = post(client)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert SECRET not in answer.text
    body = answer.json()
    assert set(body) == set(AnonymizeResponse.model_fields)
    assert (body["text"], body["status"]) == (CLEANED, "anonymized")
    (edit,) = body["edits"]
    assert set(edit) == set(Replacement.model_fields)
    assert (edit["after"], edit["attribute"]) == ("[EMAIL]", "identifier")
    assert TEXT[edit["start"] : edit["end"]] == SECRET
    units = TEXT.encode("utf-16-le")
    assert units[2 * edit["utf16_start"] : 2 * edit["utf16_end"]].decode("utf-16-le") == SECRET
    assert edit["utf16_start"] == edit["start"] + 1  # the smiley is two units
    assert body["rounds"][0] == {
        "leaks": [{"attribute": "identifier", "level": "HIGH"}],
        "edits": 1, "kept": True, "mpg": 0.9, "muc": 0.09, "mrs": 0.1,
    }  # fmt: skip
    assert body["rounds"][1]["mrs"] is None


def test_an_infinite_mrs_is_still_json(client: Any) -> None:
    def costly(text: str) -> Result:
        rounds = (Round((), (EDIT,), text, mpg=0, muc=0.1, mrs=float("inf"), kept=False),)
        return Result(Status.STOPPED_RATIONAL, text, rounds)

    DOING.act = costly
    answer = post(client, "Nothing to see.")
    assert json.loads(answer.text, parse_constant=pytest.fail)["rounds"][0]["mrs"] == "infinite"


def test_what_is_not_releasable_gets_the_reason_and_no_text(client: Any) -> None:
    DOING.act = exhausted
    answer = post(client)
    assert answer.status_code == 422
    assert SECRET not in answer.text
    body = answer.json()
    assert body["error"] == "not releasable: 1 leak is left open"
    assert body["status"] == "budget_exhausted"
    assert body["open"] == [{"attribute": "identifier", "level": "HIGH"}]
    assert "text" not in body
    assert "edits" not in body


def test_a_model_that_is_not_there_is_no_fault_of_the_text(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    DOING.act = lambda _: Result(Status.FAILED, None, reason="attacker: no answer", outage=True)
    for path in ("/anonymize", "/review/analyze"):
        answer = post(client, path=path)
        assert answer.status_code == 503
        assert answer.json() == {"error": "the model does not answer; nothing is returned"}
        assert int(answer.headers["retry-after"]) >= 1
    assert "attacker: no answer" in caplog.text
    (item,) = client.post("/anonymize/batch", json={"items": [{"text": TEXT}]}).json()["items"]
    assert item == {"code": 503, "error": "the model does not answer; nothing is returned"}


def test_a_server_that_is_down_is_an_outage_and_its_address_is_told_nobody(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as unheard:  # bound, and never listening
        unheard.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unheard.getsockname()[1]}"
        DOING.act = Anonymizer(OpenAICompatibleLLM(url, "m")).run
        answer = post(client)
    assert answer.status_code == 503
    assert "127.0.0.1" not in answer.text + caplog.text


@pytest.mark.parametrize(
    "result",
    [
        Result(Status.FAILED, SECRET, reason="attacker: cut short"),
        Result(Status.BUDGET_EXHAUSTED, SECRET, edits=(EDIT,)),
        Result(Status.STOPPED_RATIONAL, SECRET, residual=(JUDGED,)),
    ],
)
def test_a_text_that_should_not_be_in_a_result_stays_in_it(client: Any, result: Result) -> None:
    DOING.act = lambda _: result
    for answer in (post(client), client.post("/anonymize/batch", json={"items": [{"text": TEXT}]})):
        assert SECRET not in answer.text
        assert result.status.value in answer.text


def test_a_releasable_result_that_does_not_add_up_is_a_fault_of_ours(client: Any) -> None:
    DOING.act = lambda _: Result(Status.ANONYMIZED, f"{TEXT} Really.", edits=(EDIT,))
    answer = post(client)
    assert answer.status_code == 500
    assert SECRET not in answer.text


def test_attributes_and_mode_reach_the_anonymizer_or_are_refused(client: Any) -> None:
    assert post(client, attributes=["age", "income"], mode="edit").status_code == 200
    assert post(client).status_code == 200
    assert DOING.asked == [("age", "income"), None]
    answer = post(client, mode="rewrite")
    assert answer.status_code == 400
    assert answer.json() == {"error": '"mode" must be edit here: no other is served'}


@pytest.mark.parametrize(
    ("sent", "status", "message"),
    [
        ({"text": 7}, 400, 'the body: its "text" is a number; send a string'),
        ({}, 400, 'the body: it lacks "text"'),
        ({"text": TEXT, "id": SECRET}, 400, "has other fields"),
        ([TEXT], 400, "the body is a list, not an object"),
        ({"text": TEXT, "attributes": SECRET}, 400, '"attributes" is a string; send a list'),
        ({"text": TEXT, "attributes": ["age", SECRET]}, 400, "attribute 1 of"),
        ({"text": TEXT, "attributes": [["age"]]}, 400, "attribute 0 of"),
        ({"text": TEXT, "mode": SECRET}, 400, '"mode" is none of edit, rewrite'),
        ({"text": SECRET * 50}, 413, "has 1150 characters; send at most 1000"),
        ({"text": SECRET * 1000}, 413, "the body is longer than 20000 bytes"),
    ],
)
@pytest.mark.parametrize("path", ["/anonymize", "/review/analyze"])
def test_a_bad_request_is_told_where_it_is_wrong_and_quoted_nowhere(
    client: Any, path: str, sent: Any, status: int, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = client.post(path, json=sent)
    assert answer.status_code == status
    assert message in answer.json()["error"]
    assert SECRET not in answer.text + caplog.text
    assert not DOING.asked


def test_half_a_character_and_no_json_are_refused(client: Any) -> None:
    answer = client.post("/anonymize", content=b'{"text": "\\ud800"}', headers=JSON)
    assert answer.status_code == 400
    answer = client.post(
        "/anonymize", content=TEXT.encode(), headers={"content-type": "text/plain"}
    )
    assert answer.status_code == 415


def test_a_body_that_is_declared_too_long_is_413_before_any_of_it_comes(client: Any) -> None:
    status, error = client.loop.run_until_complete(asyncio.wait_for(unsent(client, 10**15), 20))
    assert (status, error) == (
        413,
        {"error": "the body is longer than 20000 bytes; send shorter texts, or fewer"},
    )


def test_a_body_that_does_not_come_is_408_after_the_time_limit(client: Any) -> None:
    status, error = client.loop.run_until_complete(asyncio.wait_for(unsent(client, 20000), 20))
    assert (status, error) == (
        408, {"error": "the body did not come in 3 seconds; send it again"},
    )  # fmt: skip


async def unsent(client: Any, length: int) -> tuple[int, Any]:
    """Announce a body, send none of it, and return the answer."""
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def collect(message: Any) -> None:
        sent.append(message)

    length_header = (b"content-length", str(length).encode())
    scope = SCOPE | {"headers": [*SCOPE["headers"], length_header]}
    await client.app(scope, receive, collect)
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_each_item_of_a_batch_has_an_answer_of_its_own(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def act(text: str) -> Result:
        if text == "boom":
            raise ValueError(SECRET)
        return exhausted() if text == "open" else anonymized(text)

    DOING.act = act
    items = [{"text": TEXT}, {"text": "open"}, {"text": 7}, {"text": "boom"}, {"text": TEXT}]
    answer = client.post("/anonymize/batch", json={"items": items})
    assert answer.status_code == 200
    assert SECRET not in answer.text + caplog.text
    answers = answer.json()["items"]
    assert [each["code"] for each in answers] == [200, 422, 400, 500, 200]
    assert [each.get("text") for each in answers] == [CLEANED, None, None, None, CLEANED]
    assert answers[2]["error"].startswith("item 2:")
    assert "ValueError" in caplog.text


@pytest.mark.parametrize(
    ("sent", "status", "message"),
    [
        ({"items": []}, 400, "send at least one"),
        ({"items": "x"}, 400, '"items" must be a list, not a string'),
        ({"texts": []}, 400, 'the one field "items"'),
        ({"items": [{"text": ""}] * 6}, 413, "holds 6; send at most 5 at once"),
    ],
)
def test_a_batch_that_is_none_is_refused(client: Any, sent: Any, status: int, message: str) -> None:
    answer = client.post("/anonymize/batch", json=sent)
    assert answer.status_code == status
    assert message in answer.json()["error"]


def test_an_exception_is_answered_and_logged_without_its_words(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(text: str) -> Result:
        raise RuntimeError(text)

    DOING.act = fail
    answer = post(client)
    assert answer.status_code == 500
    assert answer.json() == {"error": "something went wrong; nothing is returned"}
    assert "RuntimeError" in caplog.text
    assert SECRET not in answer.text + caplog.text


class Stuck:
    """Works until it is cancelled, as a model does that looks for every token."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Semaphore(0), threading.Semaphore(0)

    def __call__(self, _: str) -> Result:
        self.begun.release()
        while not is_cancelled():
            time.sleep(0.01)
        self.ended.release()
        return anonymized()


def test_more_requests_than_may_wait_are_told_when_to_come_back(client: Any) -> None:
    release = threading.Event()

    def wait(text: str) -> Result:
        release.wait(20)
        return anonymized(text)

    DOING.act = wait

    async def send() -> list[Any]:
        first = [asyncio.create_task(client.http.post("/anonymize", json={"text": TEXT}))]
        while not DOING.asked:
            await asyncio.sleep(0.01)
        first += [
            asyncio.create_task(client.http.post("/anonymize", json={"text": TEXT}))
            for _ in range(4)
        ]
        while sum(task.done() for task in first) < 2:
            await asyncio.sleep(0.01)
        release.set()
        return [await task for task in first]

    answers = client.loop.run_until_complete(send())
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 429, 429]
    for answer in answers:
        if answer.status_code == 429:
            assert 1 <= int(answer.headers["retry-after"]) <= 3
            assert "come back" in answer.json()["error"]
    assert post(client).status_code == 200


def test_one_thread_does_all_work_one_piece_at_a_time(client: Any) -> None:
    inside, most, threads = [0], [0], set()

    def act(text: str) -> Result:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        threads.add(threading.get_ident())
        inside[0] -= 1
        return anonymized(text)

    DOING.act = act
    answers = client.post_all("/anonymize", [{"text": TEXT}] * 3)
    assert [answer.status_code for answer in answers] == [200] * 3
    assert (most[0], len(threads)) == (1, 1)


def test_after_the_time_limit_the_model_is_stopped_and_nothing_comes_out(
    client: Any,
) -> None:
    DOING.act = stuck = Stuck()
    answer = post(client)
    assert answer.status_code == 504
    assert answer.json() == {"error": "not done in 3 seconds; send shorter texts, or fewer"}
    assert stuck.ended.acquire(timeout=10)
    DOING.act = anonymized
    assert post(client).status_code == 200


class UntilCancelled:
    """The real utility, whose first score is not there before the time limit."""

    def __init__(self) -> None:
        self.score, self.asked = Utility(), 0

    def __call__(self, original: str, text: str) -> float:
        self.asked += 1
        while not is_cancelled():
            time.sleep(0.01)
        return self.score(original, text)


def test_the_real_loop_is_stopped_in_the_middle_of_one_long_sentence(client: Any) -> None:
    """A leak in every nine characters, and no sentence that ends: nothing to pause at."""
    Anonymizer.embedded().run("I am 31.")  # what loads on first use
    utility = UntilCancelled()
    engine = Anonymizer.embedded(utility=utility)
    results: queue.SimpleQueue[Result] = queue.SimpleQueue()

    def act(text: str) -> Result:
        results.put(result := engine.run(text))
        return result

    DOING.act = act
    assert post(client, "ab@cd.co " * 100).status_code == 504
    assert results.get(timeout=20).status is Status.FAILED
    assert utility.asked == 1  # 100 replacements were to be weighed then
    DOING.act = anonymized
    assert post(client).status_code == 200


def test_a_client_that_hangs_up_stops_its_request_and_no_other(client: Any) -> None:
    DOING.act = stuck = Stuck()

    async def send() -> tuple[list[Any], Any]:
        sent: list[Any] = []
        hang_up = asyncio.Event()
        body = json.dumps({"text": TEXT}).encode()
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            if (message := next(messages, None)) is None:
                await hang_up.wait()
                return {"type": "http.disconnect"}
            return message

        async def collect(message: Any) -> None:
            sent.append(message)

        request = asyncio.create_task(client.app(SCOPE.copy(), receive, collect))
        while not stuck.begun.acquire(blocking=False):
            await asyncio.sleep(0.01)
        DOING.act = anonymized
        other = asyncio.create_task(client.http.post("/anonymize", json={"text": TEXT}))
        hang_up.set()
        await request
        return sent, await other

    sent, other = client.loop.run_until_complete(send())
    assert stuck.ended.acquire(timeout=10)
    assert sent[0]["status"] == 499
    assert b"".join(message.get("body", b"") for message in sent[1:]) == b""
    assert (other.status_code, other.json()["text"]) == (200, CLEANED)


def test_a_review_gets_marks_for_what_is_not_releasable_too(client: Any) -> None:
    DOING.act = exhausted
    answer = post(client, path="/review/analyze")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    assert set(body) == set(ReviewResponse.model_fields)
    assert (body["status"], body["reason"]) == ("budget_exhausted", "1 leak is left open")
    (mark,) = body["marks"]
    assert (mark["start"], mark["utf16_start"], mark["level"]) == (AT, AT + 1, "HIGH")
    assert (mark["after"], mark["open"]) == (None, False)


def test_the_published_schema_says_what_goes_in_and_out(client: Any) -> None:
    routes = {
        each["route"]: each for each in client.request("GET", "/schema.json").json()["routes"]
    }
    assert set(routes) == {"/anonymize", "/anonymize/batch", "/review/analyze"}
    assert routes["/anonymize"]["input"]["required"] == ["text"]
    assert set(routes["/anonymize"]["output"]["properties"]) == {
        "text", "edits", "rounds", "status",
    }  # fmt: skip
    document = client.request("GET", "/docs.json").json()
    assert document["info"]["title"] == "Anonymizer"
    assert "GET /review" in document["info"]["description"]


def test_it_is_not_ready_and_answers_503_until_the_model_is_loaded(
    start: Callable[[Any], Any],
) -> None:
    release = threading.Event()

    def load() -> Doing:
        release.wait(20)
        return DOING

    client = start(anonymizer_service(anonymizer=load, metrics={"enabled": False}))
    assert client.request("GET", "/livez").status_code == 200
    assert client.request("GET", "/readyz").status_code == 503
    answer = post(client)
    assert answer.status_code == 503
    assert answer.json() == {"error": "the model is not loaded yet"}
    assert int(answer.headers["retry-after"]) >= 1
    release.set()
    assert post(loaded(client)).status_code == 200


def test_a_model_that_cannot_be_loaded_never_gets_ready_and_says_why(
    start: Callable[[Any], Any], caplog: pytest.LogCaptureFixture
) -> None:
    def load() -> Doing:
        raise OSError("model: no such file")

    client = start(anonymizer_service(anonymizer=load, metrics={"enabled": False}))
    while "no such file" not in caplog.text:
        time.sleep(0.01)
    assert client.request("GET", "/readyz").status_code == 503
    for path in ("/anonymize", "/review/analyze"):
        answer = post(client, path=path)
        assert answer.status_code == 500
        assert "retry-after" not in answer.headers  # to ask again is in vain
        assert "cannot be loaded" in answer.json()["error"]
        assert "no such file" not in answer.text


def test_another_fault_of_loading_is_logged_without_its_words(
    start: Callable[[Any], Any], caplog: pytest.LogCaptureFixture
) -> None:
    def load() -> Doing:
        raise RuntimeError(SECRET)

    client = start(anonymizer_service(anonymizer=load, metrics={"enabled": False}))
    while "loading the model failed with RuntimeError" not in caplog.text:
        time.sleep(0.01)
    assert SECRET not in caplog.text
    assert client.request("GET", "/readyz").status_code == 503


def test_without_an_anonymizer_of_ones_own_the_built_in_engine_answers_once_it_has_run(
    start: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    run = Anonymizer.run
    monkeypatch.setattr(Anonymizer, "run", lambda *a, **k: (ran.append(a[1]), run(*a, **k))[1])
    AnonymizerService.check()
    client = loaded(start(anonymizer_service(metrics={"enabled": False})))
    assert len(ran) == 1
    assert SECRET not in post(client).json()["text"]


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("DYNASERVE_MODE", "rewrite", "needs a model"),
        ("DYNASERVE_MODEL", "missing.gguf", "missing.gguf"),
        ("DYNASERVE_SERVER", "http://127.0.0.1:8080", "name of its model"),
        ("DYNASERVE_ALLOW_REMOTE", "1", "about a server"),
        ("DYNASERVE_ATTRIBUTES", "age,shoes", "DYNASERVE_ATTRIBUTES: "),
        ("DYNASERVE_MAX_ROUNDS", "0", "DYNASERVE_MAX_ROUNDS: "),
        ("DYNASERVE_GRADES", "generate", "grades generate needs a model"),
    ],
)
def test_a_mistake_in_the_settings_stops_the_server_before_its_workers(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(BentoMLConfigException, match=message):
        AnonymizerService.check()


def test_settings_that_are_none_are_said_when_the_service_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DYNASERVE_SECONDS", "never")
    with pytest.raises(BentoMLConfigException, match="DYNASERVE_SECONDS"):
        anonymizer_service()


def test_the_request_is_given_up_later_than_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNASERVE_SECONDS", "7")
    service = anonymizer_service(name="Mine")
    assert service.name == "Mine"
    (bounded,) = (each for each in service.to_asgi().user_middleware if each.cls is Bounded)
    assert bounded.kwargs["seconds"] > 7
    assert service.config["http"]["host"] == "127.0.0.1"
