"""The promise of each defense, kept by a whole server: workers, batches, restarts."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import psutil
import pytest

from dynaserve.serving.settings import ServeSettings

pytestmark = pytest.mark.e2e

REPEATABLE = ["dynanoise", "rank-template"]


def repeated(server: Any, row: list[float], times: int) -> list[str]:
    """Send one query again and again, to every worker, several at a time."""
    clients = server.kept_open()
    try:
        with ThreadPoolExecutor(8) as pool:
            answers = pool.map(
                lambda n: server.predict([row], clients[n % len(clients)]).raise_for_status().text,
                range(times),
            )
            return list(answers)
    finally:
        for client in clients:
            client.close()


@pytest.fixture(scope="module")
def undefended(serve: Any, digits: Any) -> dict[str, Any]:
    server = serve(defense="none", undefended=True)
    answer: dict[str, Any] = server.predict(digits).raise_for_status().json()
    return answer


@pytest.mark.parametrize("defense", REPEATABLE)
def test_one_query_has_one_answer_over_workers_and_restarts(
    serve: Any, digits: Any, defense: str
) -> None:
    server = serve(defense=defense, workers=2)
    before = repeated(server, digits[17], 1000)
    server.restart()
    after = repeated(server, digits[17], 1000)
    assert len(set(before)) == 1
    assert set(after) == set(before)


@pytest.mark.parametrize("defense", REPEATABLE)
def test_labels_are_those_of_the_undefended_model_on_all_of_the_digits(
    serve: Any, digits: Any, defense: str, undefended: dict[str, Any]
) -> None:
    server = serve(defense=defense, workers=2)
    answer = server.predict(digits).raise_for_status().json()
    assert answer["labels"] == undefended["labels"]
    probabilities = np.array(answer["probabilities"])
    assert probabilities.argmax(axis=1).tolist() == answer["labels"]
    assert np.abs(probabilities - np.array(undefended["probabilities"])).max() > 0.01


def test_the_noise_of_the_paper_is_fresh_every_time(serve: Any, digits: Any) -> None:
    server = serve(defense="dynanoise-paper")
    assert len(set(repeated(server, digits[17], 1000))) == 1000


def test_different_queries_get_different_noise(serve: Any, digits: Any) -> None:
    server = serve(workers=2)
    nudged = [digits[17], [digits[17][0] + 1e-9, *digits[17][1:]]]
    first, second = server.predict(nudged).raise_for_status().json()["probabilities"]
    assert all(a != b for a, b in zip(first, second, strict=True))


def test_workers_end_when_their_supervisor_is_killed(serve: Any) -> None:
    server = serve(workers=2, max_rows=3)
    workers = server.workers()
    assert len(workers) == 2
    server.process.kill()
    _, alive = psutil.wait_procs(workers, timeout=30)
    # A container without a reaper keeps the dead as zombies.
    assert [worker for worker in alive if worker.status() != psutil.STATUS_ZOMBIE] == []
    assert not server.ready()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"DYNASERVE_DEFENSE": "none"}, "--undefended"),
        ({"DYNASERVE_SOURCE": "missing.skops"}, "missing.skops"),
        ({"DYNASERVE_MAX_ROWS": "none"}, "DYNASERVE_MAX_ROWS"),
    ],
)
def test_a_server_with_a_wrong_setting_does_not_start(
    environment: dict[str, str], settings: dict[str, str], message: str, tmp_path: Any
) -> None:
    command = [sys.executable, "-m", "bentoml", "serve", "dynaserve.serving.classifier:Classifier"]
    told = ServeSettings().to_environment() | environment | settings
    done = subprocess.run(
        command,
        env=os.environ | told | {"BENTOML_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert message in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout
