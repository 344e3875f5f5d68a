"""How a run is shown."""

from __future__ import annotations

import io
import json
import math

import pytest
from rich.console import Console

from dynaserve.bulk.run import SURVEY, Progress
from dynaserve.cli import bulk_progress
from dynaserve.cli.bulk_progress import Pace, watching, words

SURVEYED = Progress(SURVEY, total=8, done=3, workers=2)
BEGUN = Progress("defend", total=10_000, done=4000, before=4000, workers=1)
LATER = Progress("defend", total=10_000, done=5000, before=4000, rejects=7, workers=2)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(bulk_progress.time, "monotonic", lambda: now[0])
    return now


def test_the_pace_is_that_of_this_run_since_its_work_began(clock: list[float]) -> None:
    pace = Pace()
    assert pace.rate(SURVEYED) == 0
    assert pace.rate(BEGUN) == 0
    assert math.isinf(pace.left(BEGUN))
    clock[0] += 10
    assert pace.rate(LATER) == 100
    assert pace.left(LATER) == 50


def test_people_read_words(clock: list[float]) -> None:
    pace = Pace()
    assert words(SURVEYED, pace) == "survey: 3 of 8 units, 2 workers"
    assert words(BEGUN, pace) == "4,000 of 10,000 rows, 0 a second, ? left, 0 rejects, 1 worker"
    clock[0] += 10
    assert words(LATER, pace) == (
        "5,000 of 10,000 rows, 100 a second, 0:00:50 left, 7 rejects, 2 workers"
    )
    clock[0] += 9990
    assert "13:53:20 left" in words(LATER, pace)


def test_a_log_gets_a_line_now_and_then_and_the_last_one(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with watching() as watch:
        watch.begins("http://127.0.0.1:1/status")
        watch.goes_on(BEGUN)
        clock[0] += 1
        watch.goes_on(BEGUN)
        clock[0] += 1
        watch.goes_on(LATER)
    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert told == [
        {"dashboard": "http://127.0.0.1:1/status"},
        {
            "step": "defend", "done": 4000, "total": 10_000, "rows_per_second": 0.0,
            "eta_seconds": None, "rejects": 0, "workers": 1,
        },
        {
            "step": "defend", "done": 5000, "total": 10_000, "rows_per_second": 500.0,
            "eta_seconds": 10, "rejects": 7, "workers": 2,
        },
    ]  # fmt: skip


@pytest.mark.usefixtures("clock")
def test_a_log_gets_the_last_line_of_a_run_that_fails_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        with watching() as watch:
            watch.goes_on(BEGUN)
            watch.goes_on(LATER)
            raise ValueError("stopped")

    with pytest.raises(ValueError, match="stopped"):
        fail()
    assert json.loads(capsys.readouterr().err.splitlines()[-1])["done"] == 5000


def test_a_terminal_gets_a_bar_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, highlight=False)
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    with watching() as watch:
        watch.begins("http://127.0.0.1:1/status")
        watch.goes_on(LATER)
    assert "dashboard  http://127.0.0.1:1/status" in screen.getvalue()
    assert "5,000 of 10,000 rows" in screen.getvalue()
