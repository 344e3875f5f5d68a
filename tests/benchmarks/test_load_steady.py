"""A second worker's gain, errors under load, and growth of memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from benchmarks import load_steady
from benchmarks.load_steady import growth
from benchmarks.load_wrk import ERRORS, Load

NO_ERRORS = dict.fromkeys(ERRORS, 0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace servers by their number of workers: 100 requests/s of one, 150 of two."""
    asked: list[Any] = []

    @contextmanager
    def defended(*workers: int) -> Iterator[list[int]]:
        yield list(workers)

    def run(server: int, route: str, seconds: int, connections: int = 8) -> Load:
        asked.append((server, route, connections))
        errors = NO_ERRORS | {"status": int(connections == 64)}
        return Load(50 * (server + 1) * seconds, float(seconds), np.array([1e-3, 9e-3]), errors)

    monkeypatch.setattr(load_steady, "defended", defended)
    monkeypatch.setattr(load_steady, "_run", run)
    return asked


def test_one_and_two_workers_are_asked_in_turn(
    asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    found = load_steady.throughput(Console(width=200), rounds=2, seconds=3)
    of_json = [server for server, route, _ in asked if route == "JSON"]
    assert of_json == [1, 2, *2 * [1, 2, 2, 1]]
    assert found["binary"]["per_second"] == [100, 150]
    assert found["binary"]["gain"] == [1.5, 1.5, 1.5]
    assert "1.50 times (1.50 to 1.50); at least 1.3: met" in capsys.readouterr().out


def test_an_error_under_load_is_a_failure(
    asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(json.dumps(load_steady.soak(Console(width=200), seconds=1)))
    assert {name: each["failed"] for name, each in found.items()} == {
        "JSON 8": False,
        "JSON 64": True,
        "binary 8": False,
        "binary 64": True,
    }
    assert "errors: none" in (output := capsys.readouterr().out)
    assert "errors: status 1" in output
    assert len(asked) == 4


def test_growth_is_the_slope_of_a_line_with_its_interval() -> None:
    requests = np.arange(0.0, 50_000, 1000)
    noise = np.random.default_rng(1).normal(0, 1000, len(requests))
    resident = 5e8 + 3 * requests + noise
    found = growth(requests, resident)
    (slope, _), covariance = np.polyfit(requests, resident, 1, cov=True)
    assert found.slope == pytest.approx(slope)
    # 2.0106 is Student's 97.5% quantile for 48 degrees of freedom, from a printed table.
    half = 2.0106 * np.sqrt(covariance[0, 0])
    assert (found.low, found.high) == pytest.approx((slope - half, slope + half), rel=1e-5)
    assert found.low < 3 < found.high
    assert found.is_none


def test_an_object_in_every_request_is_growth_and_steps_around_nothing_are_not() -> None:
    requests = np.arange(0.0, 100_000, 2000)
    steps = 4096.0 * (np.arange(len(requests)) % 2)
    assert not growth(requests, 56 * requests + steps).is_none
    assert growth(requests, 5e8 + steps).is_none


def test_memory_is_looked_at_until_there_were_enough_answers(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(load_steady, "workers_of", lambda _: ["one", "two"])
    sizes = iter(range(10**8, 10**9, 300_000))  # 300 answers in a look: 1000 bytes in each
    monkeypatch.setattr(load_steady, "resident_bytes", lambda _: next(sizes))
    # Looks of 2 s and 300 answers each, until 105 s are over.
    short = load_steady.memory(Console(width=200), requests=1)
    assert len(short["looks"]) == 1 + 53
    found = load_steady.memory(Console(width=200), requests=18_000)
    assert [look[:2] for look in found["looks"][-2:]] == [(118.0, 17_700), (120.0, 18_000)]
    assert found["bytes_in_a_request"][0] == pytest.approx(1000)
    assert found["failed"]
    assert {route for _, route, _ in asked} == {"JSON", "binary"}
    assert "+976.56 KiB for every 1000 requests" in capsys.readouterr().out


def test_a_worker_that_ended_spoils_the_look_at_memory(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = iter([["one", "two"], ["one", "three"]])
    monkeypatch.setattr(load_steady, "workers_of", lambda _: next(workers))
    monkeypatch.setattr(load_steady, "resident_bytes", lambda _: 1)
    with pytest.raises(RuntimeError, match="a worker ended"):
        load_steady.memory(Console(), requests=1000)
    assert asked
