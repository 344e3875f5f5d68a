"""The Open Inference Protocol as Triton's own HTTP client speaks it, unmodified."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
import tritonclient.http as triton
from numpy.typing import NDArray
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

pytestmark = pytest.mark.e2e

MODEL = "digits"


@pytest.fixture(scope="module")
def server(serve: Any) -> Any:
    return serve(workers=1)


@pytest.fixture
def client(server: Any) -> Iterator[Any]:
    client = triton.InferenceServerClient(f"127.0.0.1:{server.port}", concurrency=8)
    yield client
    client.close()


@pytest.fixture(scope="module")
def rows(digits: Any) -> NDArray[np.float64]:
    """Rows (7, 64) of whole numbers from 0 to 16, which every type of number holds."""
    return np.array(digits[:7])


@pytest.fixture(scope="module")
def predicted(server: Any, rows: Any) -> dict[str, Any]:
    """Return what ``POST /predict`` answers."""
    answer: dict[str, Any] = server.predict(rows.tolist()).raise_for_status().json()
    return answer


def tensor(rows: NDArray[Any], datatype: str, *, binary: bool = True) -> triton.InferInput:
    sent = triton.InferInput("inputs", list(rows.shape), datatype)
    values = rows.astype(triton_to_np_dtype(datatype))
    return sent.set_data_from_numpy(values, binary_data=binary)


def test_the_client_finds_the_model_and_what_it_takes(client: Any) -> None:
    assert client.is_server_live()
    assert client.is_server_ready()
    assert "binary_tensor_data" in client.get_server_metadata()["extensions"]
    (listed,) = client.get_model_repository_index()
    assert listed["name"] == MODEL
    for version in ("", listed["version"]):
        assert client.is_model_ready(MODEL, version)
        metadata = client.get_model_metadata(MODEL, version)
        assert metadata["versions"] == [listed["version"]]
        assert metadata["inputs"] == [{"name": "inputs", "datatype": "FP64", "shape": [-1, 64]}]
        assert metadata["outputs"] == [
            {"name": "probabilities", "datatype": "FP32", "shape": [-1, 10]},
            {"name": "labels", "datatype": "INT64", "shape": [-1]},
        ]
    assert not client.is_model_ready("4711")


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "json"])
@pytest.mark.parametrize("datatype", ["FP16", "FP32", "FP64", "INT8", "INT64", "UINT16"])
def test_its_answers_are_those_of_predict(
    client: Any, rows: Any, predicted: Any, datatype: str, binary: bool
) -> None:
    outputs = [
        triton.InferRequestedOutput(name, binary_data=binary)
        for name in ("labels", "probabilities")
    ]
    result = client.infer(
        MODEL, [tensor(rows, datatype, binary=binary)], outputs=outputs, request_id="my id"
    )
    probabilities = result.as_numpy("probabilities")
    assert probabilities.dtype == np.float32
    np.testing.assert_array_equal(probabilities, np.float32(predicted["probabilities"]))
    assert result.as_numpy("labels").tolist() == predicted["labels"]
    assert result.get_response()["id"] == "my id"


@pytest.mark.parametrize("asked", ["gzip", "deflate", None])
@pytest.mark.parametrize("sent", ["gzip", "deflate", None])
def test_bodies_may_be_packed(
    client: Any, rows: Any, predicted: Any, sent: str | None, asked: str | None
) -> None:
    result = client.infer(
        MODEL,
        [tensor(rows, "FP32")],
        request_compression_algorithm=sent,
        response_compression_algorithm=asked,
    )
    np.testing.assert_array_equal(
        result.as_numpy("probabilities"), np.float32(predicted["probabilities"])
    )


def test_the_client_is_told_what_is_wrong(server: Any, client: Any, rows: Any) -> None:
    before = server.logged().count("Traceback")
    spoilt = rows.copy()
    spoilt[3, 5] = np.nan
    for model, sent, status, message in [
        (MODEL, tensor(spoilt, "FP32"), "400", "row 3, value 5 is not between"),
        (MODEL, tensor(rows[:, 1:], "FP32"), "400", "row 0 holds 63 values instead of 64"),
        (MODEL, tensor(np.zeros((2001, 64)), "INT8"), "413", "send at most 2000 at once"),
        ("4711", tensor(rows, "FP32"), "404", "nothing at this path"),
    ]:
        with pytest.raises(InferenceServerException, match=message) as caught:
            client.infer(model, [sent])
        assert caught.value.status() == status
    metrics = httpx.get(f"{server.url}/metrics").text
    assert 'dynaserve_requests_total{endpoint="/v2/models/digits/infer",status="400"}' in metrics
    assert "4711" not in metrics + server.logged()
    assert server.logged().count("Traceback") == before


def test_a_bad_request_costs_those_beside_it_nothing(
    client: Any, rows: Any, predicted: Any
) -> None:
    spoilt = np.full_like(rows, np.inf)
    asked = [
        client.async_infer(MODEL, [tensor(spoilt if number % 3 == 1 else rows, "FP32")])
        for number in range(60)
    ]
    wanted = np.float32(predicted["probabilities"])
    for number, each in enumerate(asked):
        if number % 3 == 1:
            with pytest.raises(InferenceServerException, match="row 0, value 0 is not between"):
                each.get_result()
        else:  # sums of a shared batch may round otherwise
            np.testing.assert_allclose(
                each.get_result().as_numpy("probabilities"), wanted, atol=1e-6
            )
