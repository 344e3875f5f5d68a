from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from bentoml.exceptions import BentoMLConfigException
from numpy.typing import NDArray

from dynaserve.defenses import RankTemplate, Undefended
from dynaserve.serving import classifier
from dynaserve.serving.classifier import ClassifierService, classifier_service

FLOAT64 = np.dtype(np.float64)


@dataclass
class Model:
    """Answers with its inputs as logits; fails on rows that start with 666, or when broken."""

    name: str = "echo"
    version: str = "v1"
    dtype: np.dtype[Any] = FLOAT64
    input_shape: tuple[int | None, ...] = (3,)
    classes: list[str | int] = field(default_factory=lambda: ["a", "b", 7])
    broken: bool = False
    calls: int = 0

    def logits(self, inputs: NDArray[Any]) -> NDArray[Any]:
        self.calls += 1
        if self.broken or (inputs[:, 0] == 666).any():
            raise RuntimeError(f"cannot multiply {inputs.tolist()}")
        return inputs


MODEL = Model()


@pytest.fixture(autouse=True)
def mended() -> Iterator[None]:
    yield
    MODEL.broken = False


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


def test_bad_requests_do_not_fail_the_good_ones_beside_them(client: Any) -> None:
    good, poison, ragged = [[1.0, 2.0, 3.0]], [[666, 0, 0]], [[1, 2, 3], [1]]
    alone = client.post("/predict", json={"inputs": good}).json()
    bodies = [{"inputs": rows} for rows in [good, poison, good, ragged] * 8]
    answers = client.post_all("/predict", bodies)
    assert [answer.status_code for answer in answers] == [200, 500, 200, 400] * 8
    assert all(answer.json() == alone for answer in answers if answer.status_code == 200)


def test_concurrent_requests_share_calls_of_the_model(client: Any) -> None:
    before = MODEL.calls
    answers = client.post_all("/predict", [{"inputs": [[1, 2, 3]]}] * 64)
    assert {answer.status_code for answer in answers} == {200}
    assert MODEL.calls - before < 64


def test_ready_means_that_the_model_answers_now(client: Any) -> None:
    assert client.request("GET", "/readyz").status_code == 200
    MODEL.broken = True
    assert client.request("GET", "/readyz").status_code == 503
    assert client.request("GET", "/livez").status_code == 200
    MODEL.broken = False
    assert client.request("GET", "/readyz").status_code == 200


def test_the_published_schema_says_what_goes_in_and_out(client: Any) -> None:
    (route,) = client.request("GET", "/schema.json").json()["routes"]
    assert route["route"] == "/predict"
    assert route["input"]["required"] == ["inputs"]
    assert set(route["output"]["properties"]) == {"labels", "probabilities"}


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
