"""The protocol on a whole service, without a socket; ``tests/e2e`` has the real client."""

from __future__ import annotations

import asyncio
import gzip
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from dynaserve.defenses import Undefended
from dynaserve.serving import classifier, readiness
from dynaserve.serving.classifier import classifier_service
from dynaserve.serving.models import UnscoredError

MAX_ROWS = 16
INFER = "/v2/models/echo/infer"
ROWS = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float16)


@dataclass
class Model:
    """Answers with its inputs as logits; fails on rows that start with 666, or when broken.

    Rows that start with 1e30 have no scores.
    """

    name: str = "echo.onnx"
    version: str = "0123456789abcdef"
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float32))
    input_shape: tuple[int | None, ...] = (3,)
    classes: list[str | int] = field(default_factory=lambda: [3, 1, 4])
    broken: bool = False
    calls: int = 0

    def logits(self, inputs: NDArray[Any]) -> NDArray[Any]:
        self.calls += 1
        if self.broken or (inputs[:, 0] == 666).any():
            raise RuntimeError(f"cannot multiply {inputs.tolist()}")
        if (unscored := inputs[:, 0] == np.float32(1e30)).any():
            raise UnscoredError(f"row {unscored.argmax()} has no finite scores")
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
        patch.setenv("DYNASERVE_MAX_ROWS", str(MAX_ROWS))
        patch.delenv("DYNASERVE_MAX_BYTES", raising=False)
        patch.setattr(classifier, "load_model", lambda *_, **__: MODEL)
        yield start(classifier_service(metrics={"enabled": False}))


def request(
    rows: Any, datatype: str = "FP32", *, binary: bool = True, **fields: Any
) -> dict[str, Any]:
    """Return content and headers of a request that wants its outputs in the form of its input."""
    sizes = {"FP16": "f2", "FP32": "f4", "FP64": "f8", "INT64": "i8", "UINT8": "u1"}
    values = np.asarray(rows).astype("<" + sizes[datatype])
    tensor: dict[str, Any] = {"name": "inputs", "shape": values.shape, "datatype": datatype}
    if binary:
        tensor["parameters"] = {"binary_data_size": values.nbytes}
    else:
        tensor["data"] = values.ravel().tolist()
    asked = {"inputs": [tensor], "parameters": {"binary_data_output": binary}} | fields
    json = orjson.dumps(asked)
    tail = values.tobytes() if binary else b""
    return {
        "content": json + tail,
        "headers": {"inference-header-content-length": str(len(json))} if binary else {},
    }


def outputs(answer: httpx.Response) -> dict[str, NDArray[Any]]:
    """Read an answer, by the letter of the protocol."""
    assert answer.status_code == 200, answer.text
    length = answer.headers.get("inference-header-content-length")
    body = answer.content if length is None else answer.content[: int(length)]
    tail = b"" if length is None else answer.content[int(length) :]
    found = {}
    for output in orjson.loads(body)["outputs"]:
        dtype = {"FP32": "<f4", "INT64": "<i8"}[output["datatype"]]
        if "data" in output:
            values = np.array(output["data"], dtype)
        else:
            size = output["parameters"]["binary_data_size"]
            values, tail = np.frombuffer(tail[:size], dtype), tail[size:]
        found[output["name"]] = values.reshape(output["shape"])
    assert tail == b""
    return found


def predicted(client: Any, rows: Any) -> dict[str, NDArray[Any]]:
    answer = client.post("/predict", json={"inputs": np.asarray(rows).tolist()}).json()
    return {
        "probabilities": np.array(answer["probabilities"], np.float32),
        "labels": np.array(answer["labels"], np.int64),
    }


def assert_same(one: dict[str, NDArray[Any]], other: dict[str, NDArray[Any]]) -> None:
    assert one.keys() == other.keys()
    for name, values in one.items():
        assert values.dtype == other[name].dtype
        np.testing.assert_array_equal(values, other[name])


@pytest.mark.parametrize("datatype", ["FP16", "FP32", "FP64"])
@pytest.mark.parametrize("binary", [True, False])
def test_an_answer_is_that_of_predict_bit_for_bit(client: Any, datatype: str, binary: bool) -> None:
    answer = client.post(INFER, **request(ROWS, datatype, binary=binary))
    assert_same(outputs(answer), predicted(client, ROWS))
    kind = "application/octet-stream" if binary else "application/json"
    assert answer.headers["content-type"] == kind


@pytest.mark.parametrize("datatype", ["INT64", "UINT8"])
def test_whole_numbers_are_the_query_that_predict_makes_of_them(client: Any, datatype: str) -> None:
    rows = np.array([[1, 2, 3], [255, 0, 7]])
    assert_same(outputs(client.post(INFER, **request(rows, datatype))), predicted(client, rows))


def test_digits_that_the_model_drops_make_no_other_query(client: Any) -> None:
    rows = np.array([[0.1, 0.2, 0.3]])
    nudged = rows + 1e-12
    assert (rows != nudged).all()
    assert_same(*(outputs(client.post(INFER, **request(each, "FP64"))) for each in (rows, nudged)))


def test_numbers_that_round_twice_are_one_query_by_both_ways_in(client: Any) -> None:
    rows = np.array([[2**60 + 2**36 + 1, 0, 0]])
    assert_same(outputs(client.post(INFER, **request(rows, "INT64"))), predicted(client, rows))


def test_what_is_released_went_through_the_defense(client: Any) -> None:
    released = outputs(client.post(INFER, **request(ROWS)))["probabilities"]
    assert np.abs(released - Undefended()(ROWS.astype(np.float32))).max() > 1e-3
    np.testing.assert_allclose(released.sum(axis=1), 1, atol=1e-6)


def test_no_output_but_the_defended_ones_can_be_had(client: Any) -> None:
    answer = client.post(INFER, **request(ROWS, outputs=[{"name": "logits"}]))
    assert answer.status_code == 400
    assert answer.json() == {"error": "an output must be one of probabilities, labels"}


def test_what_is_around_inference(client: Any) -> None:
    def get(path: str) -> Any:
        answer = client.request("GET", path)
        assert answer.status_code == 200
        return answer.json()

    assert get("/v2")["name"] == "dynaserve"
    assert get("/v2/")["extensions"] == ["binary_tensor_data"]
    assert get("/v2/health/live") == {"live": True}
    assert get("/v2/health/ready") == {"ready": True}
    versioned = "/v2/models/echo/versions/0123456789ab"
    for model in ("/v2/models/echo", versioned):
        assert get(model)["inputs"] == [{"name": "inputs", "datatype": "FP32", "shape": [-1, 3]}]
        assert get(f"{model}/ready") == {"name": "echo", "ready": True}
    answer = client.post(f"{versioned}/infer", **request(ROWS))
    assert_same(outputs(answer), predicted(client, ROWS))
    assert client.post("/v2/repository/index", json={}).json() == [
        {"name": "echo", "version": "0123456789ab", "state": "READY", "reason": ""}
    ]


def test_ready_means_that_the_model_answers_now(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.request("GET", "/v2/health/ready").json() == {"ready": True}
    later = time.monotonic() + 5  # what went well before says nothing any more
    monkeypatch.setattr(readiness, "monotonic", lambda: later)
    MODEL.broken = True
    for path in ("/v2/health/ready", "/v2/models/echo/ready"):
        answer = client.request("GET", path)
        assert answer.status_code == 503
        assert answer.json()["ready"] is False
    assert client.request("GET", "/v2/health/live").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/v2/models/4711", "/v2/models/4711/infer", "/v2/models/4711/ready", "/v2/models/echo/4711",
        "/v2/models/Echo/infer", "/v2/models/echo/versions/4711/infer", "/v2/4711", "/v2/models",
        "/v2/models/echo/infer/4711", "/v1/models/echo", "/v2/models/echo%2Finfer4711",
    ],
)  # fmt: skip
def test_what_is_not_there_is_not_found_and_not_repeated(client: Any, path: str) -> None:
    for method in ("GET", "POST"):
        answer = client.request(method, path)
        assert answer.status_code == 404
        assert list(answer.json()) == ["error"]
        assert "4711" not in answer.text


@pytest.mark.parametrize(
    ("method", "path"), [("GET", INFER), ("PUT", INFER), ("POST", "/v2"), ("DELETE", "/v2/")]
)
def test_another_method_is_refused_in_the_protocols_form(
    client: Any, method: str, path: str
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == 405
    assert list(answer.json()) == ["error"]
    assert "allow" in answer.headers


@pytest.mark.parametrize(
    ("sent", "status", "message"),
    [
        (request(np.zeros((MAX_ROWS + 1, 3))), 413, f"send at most {MAX_ROWS} at once"),
        (request(np.zeros((1, 2))), 400, "row 0 holds 2 values instead of 3"),
        (request([[0, 0, np.nan]]), 400, "row 0, value 2 is not between"),
        (request([[1e30, 0, 0]]), 400, "row 0 has no finite scores"),
        ({"content": b"4711" * 2000}, 413, "longer than 5632 bytes"),
        ({"content": b"4711"}, 400, "send one object"),
        ({"content": b"4711", "headers": {"content-type": "text/plain"}}, 415, "send JSON"),
        ({"content": b"4711", "headers": {"content-encoding": "gzip"}}, 400, "content-encoding"),
        ({"content": b"4711", "headers": {"content-encoding": "br"}}, 415, "gzip or deflate"),
        ({"content": gzip.compress(bytes(10**7)), "headers": {"content-encoding": "gzip"}},
         413, "longer than 5632 bytes"),
    ],
)  # fmt: skip
def test_a_refusal_is_in_the_protocols_form_and_no_traceback_in_the_log(
    client: Any, sent: Any, status: int, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.post(INFER, **sent)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert message in answer.json()["error"]
    assert "4711" not in answer.text + caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("pack", [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_bodies_may_be_packed_both_ways(client: Any, pack: Any) -> None:
    coding, packed = pack
    sent = request(ROWS)
    sent["content"] = packed(sent["content"])
    sent["headers"] |= {"content-encoding": coding, "accept-encoding": coding}
    answer = client.post(INFER, **sent)
    assert answer.headers["content-encoding"] == coding
    assert_same(outputs(answer), predicted(client, ROWS))


def test_a_failing_model_is_an_error_that_quotes_nothing(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.post(INFER, **request([[666, 0.4711, 0]]))
    assert answer.status_code == 500
    assert answer.json() == {"error": "something went wrong"}
    assert "the model failed with RuntimeError" in caplog.text
    assert "4711" not in answer.text + caplog.text


def test_whatever_else_fails_is_an_answer_too(
    client: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "4711"

    def fail(*_: Any) -> None:
        raise ZeroDivisionError(secret)

    monkeypatch.setattr("dynaserve.serving.inference.routes.write_answer", fail)
    answer = client.post(INFER, **request(ROWS))
    assert answer.status_code == 500
    assert "a request failed with ZeroDivisionError" in caplog.text
    assert secret not in answer.text + caplog.text


def test_a_client_that_goes_away_leaves_no_traceback(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": INFER, "root_path": "", "scheme": "http",
        "query_string": b"", "headers": [(b"host", b"127.0.0.1")], "http_version": "1.1",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
    }  # fmt: skip
    client.loop.run_until_complete(client.app(scope, receive, send))
    assert sent[0]["status"] == 499
    assert "Traceback" not in caplog.text


def test_one_bad_client_costs_no_other_its_answer(client: Any) -> None:
    rows = np.random.default_rng(1).normal(size=(24, 2, 3)).astype(np.float32)
    alone = [outputs(client.post(INFER, **request(each))) for each in rows]
    nan, poison, unscored = ([[bad, 0, 0]] for bad in (np.nan, 666, 1e30))
    torn = request(rows[0]) | {"content": request(rows[0])["content"][:-1]}
    before = MODEL.calls

    async def send() -> list[httpx.Response]:
        sent = []
        for number, each in enumerate(rows):
            bad = [request(nan), request(poison), torn, request(unscored)][number % 4]
            sent += [client.http.post(INFER, **request(each, binary=number % 2 == 0)),
                     client.http.post(INFER, **bad),
                     client.http.post("/predict", json={"inputs": each.tolist()})]  # fmt: skip
        return await asyncio.gather(*sent)

    answers = client.loop.run_until_complete(send())
    for number, wanted in enumerate(alone):
        good, bad, beside = answers[3 * number : 3 * number + 3]
        assert_same(outputs(good), wanted)
        assert bad.status_code == [400, 500, 400, 400][number % 4]
        probabilities = np.array(beside.json()["probabilities"], np.float32)
        np.testing.assert_array_equal(probabilities, wanted["probabilities"])
    assert MODEL.calls - before < len(answers)


def test_a_prefix_moves_the_protocol_too(
    start: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(classifier, "load_model", lambda *_, **__: MODEL)
    moved = start(classifier_service(metrics={"enabled": False}, path_prefix="/here"))
    assert moved.request("GET", "/here/v2/models/echo").json()["name"] == "echo"
    assert moved.request("GET", "/v2/models/echo").status_code == 404
