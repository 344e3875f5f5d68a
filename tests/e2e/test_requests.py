"""What a server that real clients reach does with good and bad requests, with 1 and 2 workers."""

from __future__ import annotations

import asyncio
import json
import pickle
import socket
import subprocess
import sys
import time
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.e2e

MAX_ROWS = 2000
ROW = [0.0] * 64


@pytest.fixture(scope="module", params=[1, 2], ids=["1 worker", "2 workers"])
def server(serve: Any, request: pytest.FixtureRequest) -> Any:
    return serve(workers=request.param)


def post(server: Any, body: str | bytes, media_type: str = "application/json") -> httpx.Response:
    headers = {"content-type": media_type}
    return httpx.post(f"{server.url}/predict", content=body, headers=headers, timeout=60)


def test_it_has_the_workers_it_was_asked_for(server: Any) -> None:
    assert len(server.workers()) == int(server.environment["DYNASERVE_WORKERS"])


def test_it_listens_on_loopback_only(server: Any) -> None:
    listening = {
        connection.laddr.ip
        for process in [server.workers()[0].parent(), *server.workers()]
        for connection in process.net_connections("tcp")
        if connection.status == "LISTEN" and connection.laddr.port == server.port
    }
    assert listening == {"127.0.0.1"}


def test_digits_get_labels_and_probabilities(server: Any, digits: Any) -> None:
    answer = server.predict(digits[:3])
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["labels"] == [0, 1, 2]
    assert [len(row) for row in answer.json()["probabilities"]] == [10] * 3
    assert set(answer.json()) == {"labels", "probabilities"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "malformed JSON"),
        ('{"inputs": [[1, 2', "malformed JSON"),
        ('{"inputs": [[NaN]]}', "malformed JSON"),
        ('{"inputs": [[Infinity]]}', "malformed JSON"),
        ('{"inputs": [[1e400]]}', "malformed JSON"),
        ('{"rows": [[1]]}', 'one field \\"inputs\\"'),
        ("[[1]]", 'one field \\"inputs\\"'),
        ('{"inputs": []}', "holds no rows"),
        ('{"inputs": 4711}', "must be a list of rows"),
        ('{"inputs": [[4711]]}', "row 0 holds 1 values instead of 64"),
        (f'{{"inputs": [{ROW}, [4711]]}}', "row 1 holds 1 values instead of 64"),
        (f'{{"inputs": [{["4711"] * 64}]}}'.replace("'", '"'), "row 0, value 0 is a string"),
        (f'{{"inputs": [{[*ROW[1:], True]}]}}'.lower(), "row 0, value 63 is a boolean"),
    ],
)
def test_a_bad_request_is_told_what_is_wrong_and_quoted_nowhere(
    server: Any, body: str, message: str
) -> None:
    answer = post(server, body)
    assert answer.status_code == 400
    assert message in answer.text
    assert "4711" not in answer.text
    assert "4711" not in server.logged()


def test_too_many_rows_are_refused_and_the_limit_is_not(server: Any) -> None:
    assert server.predict([ROW] * MAX_ROWS).status_code == 200
    answer = server.predict([ROW] * (MAX_ROWS + 1))
    assert answer.status_code == 413
    assert f"at most {MAX_ROWS}" in answer.text


def test_more_bytes_or_lists_than_rows_need_are_refused_unparsed(server: Any) -> None:
    answer = post(server, '{"inputs": [' + "[0]," * 3000 + "[0]]}")
    assert answer.status_code == 413
    assert f"at most {MAX_ROWS} rows" in answer.text
    most = MAX_ROWS * 64 * 32 + 4096
    answer = post(server, '{"inputs": [[' + "0," * (most // 2) + "0]]}")
    assert answer.status_code == 413
    assert f"longer than {most} bytes" in answer.text


def test_a_row_that_overflows_the_model_is_a_bad_request(server: Any, digits: Any) -> None:
    answer = server.predict([digits[0], [1e308] * 64])
    assert answer.status_code == 400
    assert answer.json() == {"error": "row 1 has no finite scores; send smaller numbers"}
    assert "RuntimeWarning" not in server.logged()


def test_a_client_that_hangs_up_leaves_no_traceback(server: Any) -> None:
    before = server.logged().count("Traceback")
    head = "POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as hasty:
        hasty.sendall(f"{head}content-length: 1000\r\n\r\n{{".encode())
    counted = 'dynaserve_requests_total{endpoint="/predict",status="499"}'
    while counted not in httpx.get(f"{server.url}/metrics").text:
        time.sleep(0.05)
    assert server.logged().count("Traceback") == before


def test_pickles_are_refused_unread(server: Any, tmp_path: Any) -> None:
    class Touch:
        def __reduce__(self) -> Any:
            return (open, (str(tmp_path / "was here"), "w"))

    answer = post(server, pickle.dumps(Touch()), "application/vnd.bentoml+pickle")
    assert answer.status_code == 415
    assert not (tmp_path / "was here").exists()


@pytest.mark.parametrize("media_type", ["application/x-www-form-urlencoded", "text/plain"])
def test_what_does_not_say_it_is_json_is_refused(server: Any, media_type: str) -> None:
    answer = post(server, '{"inputs": [[1]]}', media_type)
    assert answer.status_code == 415
    assert "content-type: application/json" in answer.text


def test_only_post_predicts(server: Any) -> None:
    assert httpx.get(f"{server.url}/predict").status_code == 405
    assert httpx.post(f"{server.url}/scores").status_code == 404


def test_bad_requests_do_not_fail_the_good_ones_beside_them(server: Any, digits: Any) -> None:
    good, ragged, words = digits[:2], [ROW, [1.0]], [["x"] * 64]
    requests = [good, ragged, good, words] * 20

    async def send() -> list[httpx.Response]:
        async with httpx.AsyncClient(timeout=60) as client:
            sent = [
                client.post(f"{server.url}/predict", json={"inputs": rows}) for rows in requests
            ]
            return await asyncio.gather(*sent)

    answers = asyncio.run(send())
    assert [answer.status_code for answer in answers] == [200, 400, 200, 400] * 20
    assert len({answer.text for answer in answers if answer.status_code == 200}) == 1


@pytest.mark.parametrize(
    ("path", "contains"),
    [("/readyz", ""), ("/livez", ""), ("/", "<html"), ("/docs.json", "/predict"), ("/metrics", "")],
)
def test_the_pages_around_the_endpoint_answer(server: Any, path: str, contains: str) -> None:
    answer = httpx.get(server.url + path)
    assert answer.status_code == 200
    assert contains in answer.text.lower()


def test_metrics_count_requests_and_tell_nothing_of_the_defense(server: Any) -> None:
    server.predict([ROW])
    for path in ("/unheard-of", "/predict/unheard-of", "/static_content/unheard-of"):
        assert httpx.get(server.url + path).status_code == 404
    metrics = httpx.get(f"{server.url}/metrics").text
    assert "unheard-of" not in metrics
    assert 'dynaserve_requests_total{endpoint="/predict",status="200"}' in metrics
    assert 'dynaserve_requests_total{endpoint="unknown",status="404"}' in metrics
    counts = "".join(line for line in metrics.splitlines() if not line.startswith("#"))
    for word in ("logit", "sensitivity", "sigma", "noise", "entropy", "variance"):
        assert word not in counts.lower()


def test_the_client_of_bentoml_works(server: Any, digits: Any) -> None:
    code = (
        "import bentoml, json, sys\n"
        "with bentoml.SyncHTTPClient(sys.argv[1]) as client:\n"
        "    print(client.predict(inputs=json.loads(sys.argv[2]))['labels'])\n"
    )
    command = [sys.executable, "-c", code, server.url, json.dumps(digits[:2])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "[0, 1]\n", done.stderr
