from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from bentoml.exceptions import BentoMLConfigException
from numpy.typing import NDArray

from dynaserve.defenses import RankTemplate, Undefended
from dynaserve.serving import classifier, readiness, written
from dynaserve.serving.classifier import ClassifierService, classifier_service
from dynaserve.serving.models import UnscoredError

FLOAT64 = np.dtype(np.float64)


@dataclass
class Model:
    """Answers with its inputs as logits; fails on rows that start with 666, or when broken.

    Rows that start with 1e308 have no scores.
    """

    name: str = "echo"
    version: str = "v1"
    dtype: np.dtype[Any] = FLOAT64
    input_shape: tuple[int | None, ...] = (3,)
    classes: list[str | int] = field(default_factory=lambda: ["a", "b", 7])
    broken: bool = False
    calls: int = 0
    seconds: float = 0.0

    def logits(self, inputs: NDArray[Any]) -> NDArray[Any]:
        self.calls += 1
        time.sleep(self.seconds)
        if self.broken or (inputs[:, 0] == 666).any():
            raise RuntimeError(f"cannot multiply {inputs.tolist()}")
        if (unscored := inputs[:, 0] == 1e308).any():
            raise UnscoredError(f"row {unscored.argmax()} has no finite scores")
        return inputs


MODEL = Model()


@pytest.fixture(autouse=True)
def mended() -> Iterator[None]:
    yield
    MODEL.broken = False
    MODEL.seconds = 0.0


@pytest.fixture(scope="module")
def client(start: Callable[[Any], Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DYNASERVE_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        patch.setenv("DYNASERVE_MAX_ROWS", "8")
        patch.setenv("DYNASERVE_MAX_BYTES", "1000")
        patch.setattr(classifier, "load_model", lambda *_, **__: MODEL)
        yield start(classifier_service(metrics={"enabled": False}))


def test_an_answer_holds_labels_and_probabilities_and_nothing_else(client: Any) -> None:
    answer = client.post("/predict", json={"inputs": [[9, 0, 0], [0, 0, 9]]})
    assert answer.status_code == 200
    assert set(answer.json()) == {"labels", "probabilities"}
    assert answer.json()["labels"] == ["a", 7]
    probabilities = np.array(answer.json()["probabilities"])
    assert probabilities.shape == (2, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)


def test_what_is_released_went_through_the_defense(client: Any) -> None:
    row = [[1.0, 2.0, 3.0]]
    released = client.post("/predict", json={"inputs": row}).json()["probabilities"]
    assert np.abs(np.array(released) - Undefended()(np.array(row))).max() > 1e-3


def test_a_row_gets_one_answer_whatever_it_is_sent_with(client: Any) -> None:
    row = [1.0, 2.0, 3.0]
    alone = client.post("/predict", json={"inputs": [row]}).json()["probabilities"][0]
    beside = client.post("/predict", json={"inputs": [[0, 0, 1], row]}).json()["probabilities"][1]
    assert alone == beside


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"inputs": [[1, 2]]}, 400),
        ({"inputs": []}, 400),
        ({"rows": [[1, 2, 3]]}, 400),
        ({"inputs": [[0, 0, 0]] * 9}, 413),
        ({"inputs": [["x" * 1000] * 3]}, 413),
    ],
)
def test_a_refusal_is_one_json_object_and_no_traceback_in_the_log(
    client: Any, body: Any, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.post("/predict", json=body)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    "media_type", ["application/vnd.bentoml+pickle", "text/plain", "multipart/form-data"]
)
def test_other_media_types_are_refused(client: Any, media_type: str) -> None:
    answer = client.post("/predict", content=b"x", headers={"content-type": media_type})
    assert answer.status_code == 415


def test_a_failing_model_is_an_error_that_quotes_nothing(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.post("/predict", json={"inputs": [[666, 0.4711, 0]]})
    assert answer.status_code == 500
    assert "the model failed with RuntimeError" in caplog.text
    assert "4711" not in answer.text + caplog.text


def test_a_row_without_scores_is_the_fault_of_its_own_request_alone(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    good, bad = [[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0], [1e308, 0, 0]]
    answers = client.post_all("/predict", [{"inputs": rows} for rows in [good, bad, good] * 8])
    assert [answer.status_code for answer in answers] == [200, 400, 200] * 8
    assert answers[1].json() == {"error": "row 1 has no finite scores"}
    assert "Traceback" not in caplog.text


def test_a_client_that_goes_away_leaves_no_traceback(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/predict", "root_path": "", "scheme": "http",
        "query_string": b"", "http_version": "1.1",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
        "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
    }  # fmt: skip
    client.loop.run_until_complete(client.app(scope, receive, send))
    assert sent[0]["status"] == 499
    assert "Traceback" not in caplog.text


def test_the_body_is_limited_by_what_the_rows_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifier, "load_model", lambda *_, **__: Model(input_shape=(64,)))
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", "ab" * 32)
    for name in ("DYNASERVE_MAX_ROWS", "DYNASERVE_MAX_BYTES"):
        monkeypatch.delenv(name, raising=False)
    assert ClassifierService().limits.max_bytes == 1024 * 64 * 32 + 4096
    monkeypatch.setenv("DYNASERVE_MAX_BYTES", "1000")
    assert ClassifierService().limits.max_bytes == 1000


def test_bad_requests_do_not_fail_the_good_ones_beside_them(client: Any) -> None:
    good, poison, ragged = [[1.0, 2.0, 3.0]], [[666, 0, 0]], [[1, 2, 3], [1]]
    alone = client.post("/predict", json={"inputs": good}).json()
    bodies = [{"inputs": rows} for rows in [good, poison, good, ragged] * 8]
    answers = client.post_all("/predict", bodies)
    assert [answer.status_code for answer in answers] == [200, 500, 200, 400] * 8
    assert all(answer.json() == alone for answer in answers if answer.status_code == 200)


def test_a_large_answer_is_written_as_a_small_one_is(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"inputs": [[1.0, 2.0, 3.0], [3.0, 0.0, 1.0], [0.5, 0.0, 0.1]]}
    small = client.post("/predict", json=body)
    monkeypatch.setattr(classifier, "PART_NUMBERS", 4)
    monkeypatch.setattr(written, "PART_NUMBERS", 4)
    large = client.post("/predict", json=body)
    assert large.content == small.content
    assert large.headers["content-length"] == str(len(small.content))


def test_concurrent_requests_share_calls_of_the_model(client: Any) -> None:
    MODEL.seconds = 0.002  # longer than what would run at once, one by one
    before = MODEL.calls
    answers = client.post_all("/predict", [{"inputs": [[1, 2, 3]]}] * 64)
    assert {answer.status_code for answer in answers} == {200}
    assert MODEL.calls - before < 64


def test_ready_means_that_the_model_answers_now(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [time.monotonic()]
    monkeypatch.setattr(readiness, "monotonic", lambda: now[0])
    assert client.request("GET", "/readyz").status_code == 200
    MODEL.broken = True
    calls = MODEL.calls
    assert [client.request("GET", "/readyz").status_code for _ in range(5)] == [200] * 5
    assert client.request("GET", "/livez").status_code == 200
    assert MODEL.calls == calls
    now[0] += 5
    assert client.request("GET", "/readyz").status_code == 503
    MODEL.broken = False
    assert client.request("GET", "/readyz").status_code == 200


def test_the_published_schema_says_what_goes_in_and_out(client: Any) -> None:
    (route,) = client.request("GET", "/schema.json").json()["routes"]
    assert route["route"] == "/predict"
    assert route["input"]["required"] == ["inputs"]
    assert set(route["output"]["properties"]) == {"labels", "probabilities"}


def test_the_api_document_is_about_this_service(client: Any) -> None:
    document = client.request("GET", "/docs.json").json()
    assert document["info"]["title"] == "Classifier"
    assert document["info"]["description"] == classifier.DESCRIPTION
    assert "bentoml.com" not in document["info"]["description"]


def test_the_api_document_shows_no_row_that_the_model_might_refuse(client: Any) -> None:
    assert "example" not in client.request("GET", "/docs.json").text


@pytest.mark.parametrize(("told", "tracked"), [({}, False), ({"BENTOML_DO_NOT_TRACK": "0"}, True)])
def test_nothing_is_reported_to_bentoml_unless_the_user_wants_it(
    told: dict[str, str], tracked: bool
) -> None:
    code = (
        "from bentoml._internal.utils.analytics.usage_stats import do_not_track\n"
        "do_not_track()  # as `bentoml serve` asks before it loads a service\n"
        "import dynaserve.serving.classifier\n"
        "print(not do_not_track())"
    )
    environment = {name: os.environ[name] for name in os.environ if name != "BENTOML_DO_NOT_TRACK"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment | told, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"{tracked}\n"


def test_a_defense_for_other_classes_is_an_error_before_any_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    rng = np.random.default_rng(0)
    for_four = RankTemplate.calibrate(rng.normal(size=(400, 4)), rng.integers(0, 4, 400))
    for_four.save(tmp_path / "defense.toml")
    monkeypatch.setenv("DYNASERVE_DEFENSE", str(tmp_path / "defense.toml"))
    monkeypatch.setattr(classifier, "load_model", lambda *_, **__: Model())
    with pytest.raises(ValueError, match="classes"):
        ClassifierService()


def test_a_mistake_in_the_settings_stops_the_server_before_its_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DYNASERVE_DEFENSE", "none")
    monkeypatch.setattr(classifier, "load_model", lambda *_, **__: Model())
    with pytest.raises(BentoMLConfigException, match="--undefended"):
        ClassifierService.check()
    monkeypatch.setenv("DYNASERVE_WORKERS", "0")
    with pytest.raises(BentoMLConfigException, match="DYNASERVE_WORKERS"):
        classifier_service()
