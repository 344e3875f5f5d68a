"""Files as dead workers leave them, folded while others look, and while whoever folds is killed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.mmap_dict import MmapedDict, mmap_key

from dynaserve.serving.telemetry import workers as module
from dynaserve.serving.telemetry.workers import Workers, is_alive

GONE = range(5_000_000, 6_000_000)
"""Past the highest id that Linux gives a process, 4,194,304."""


def leave(folder: Path, pid: int, requests: float, seconds: tuple[float, ...] = ()) -> None:
    """Write what a worker counts: requests by route, and their times in buckets of 1 and more."""
    counter = MmapedDict(str(folder / f"counter_{pid}.db"))
    for path in ("/a", "/b"):
        key = mmap_key("requests", "requests_total", ["endpoint"], [path], "Help.")
        counter.write_value(key, requests, 0.0)
    histogram = MmapedDict(str(folder / f"histogram_{pid}.db"))
    found: dict[tuple[str, str], float] = {
        ("seconds_bucket", "1.0"): sum(each <= 1 for each in seconds),
        ("seconds_bucket", "+Inf"): sum(each > 1 for each in seconds),
        ("seconds_sum", ""): sum(seconds),
    }
    for (name, le), value in found.items():
        labels = {"le": le} if le else {}
        key = mmap_key("seconds", name, [*labels], [*labels.values()], "Help.")
        histogram.write_value(key, value, 0.0)
    gauge = MmapedDict(str(folder / f"gauge_livesum_{pid}.db"))
    gauge.write_value(mmap_key("now", "now", [], [], "Help."), 1.0, 0.0)
    for file in (counter, histogram, gauge):
        file.close()


def sums(folder: Path) -> dict[str, float]:
    return {
        f"{sample.name}{''.join(sample.labels.values())}": sample.value
        for metric in Workers(str(folder)).collect()
        for sample in metric.samples
    }


def of(requests: float, buckets: tuple[float, float], seconds: float) -> dict[str, float]:
    first, every = buckets
    return {
        "requests_total/a": requests,
        "requests_total/b": requests,
        "seconds_bucket1.0": first,
        "seconds_bucket+Inf": every,
        "seconds_count": every,
        "seconds_sum": seconds,
    }


def test_the_dead_are_folded_into_one_and_the_living_left_alone(tmp_path: Path) -> None:
    leave(tmp_path, os.getpid(), 100, (0.5,))
    for turn in range(1, 30):  # one after the other, as workers that come and go
        leave(tmp_path, GONE[turn], turn, (0.5, 4.0))
        total = 100 + turn * (turn + 1) // 2
        assert sums(tmp_path) == {**of(total, (1 + turn, 1 + 2 * turn), 0.5 + 4.5 * turn), "now": 1}
        assert len(list(tmp_path.rglob("*.db"))) == 3 + 2
    assert (tmp_path / f"counter_{os.getpid()}.db").exists()


def test_who_gets_the_id_of_a_dead_one_counts_on(tmp_path: Path) -> None:
    for _ in range(3):
        leave(tmp_path, GONE[0], 7)
        found = sums(tmp_path)
    assert found["requests_total/a"] == 21


def test_all_who_look_at_once_see_the_same(tmp_path: Path) -> None:
    for turn in range(40):
        leave(tmp_path, GONE[turn], 2, (0.5,))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: sums(tmp_path), range(16)))
    assert found == [of(80, (40, 40), 20)] * 16


class Killed(BaseException):
    """Ends a scrape at once, as a signal does."""


@pytest.mark.parametrize("late", [False, True])
def test_whoever_is_killed_while_it_folds_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """Killed before, or after, each of its steps in turn, until one scrape gets through."""
    left = 0

    def dying(step: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*given: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0 and not late:
                raise Killed
            result = step(*given, **named)
            if left == 0:
                raise Killed
            return result

        return stepped

    for turn in range(100):
        folder = tmp_path / str(turn)
        folder.mkdir()
        for number in range(3):
            leave(folder, GONE[number], 2, (0.5,))
        assert sums(folder) == of(6, (3, 3), 1.5)
        leave(folder, GONE[3], 2, (0.5,))
        with monkeypatch.context() as patch:
            for name in ("rename", "unlink", "mkdir"):
                patch.setattr(Path, name, dying(getattr(Path, name)))
            patch.setattr(module, "write_sums", dying(module.write_sums))
            patch.setattr(shutil, "rmtree", dying(shutil.rmtree))
            left = turn + 1
            try:
                sums(folder)
            except Killed:
                over = False
            else:
                over = True
        assert sums(folder) == of(8, (4, 4), 2)
        assert sums(folder) == of(8, (4, 4), 2)
        assert len(list(folder.rglob("*.db"))) == 2
        if over:
            break
    assert 8 < turn < 99


def test_on_a_full_disk_they_count_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    for number in range(3):
        leave(tmp_path, GONE[number], 2, (0.5,))
    for name in ("mkdir", "write_bytes"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, name, full)
            assert sums(tmp_path) == of(6, (3, 3), 1.5)
    assert sums(tmp_path) == of(6, (3, 3), 1.5)
    assert len(list(tmp_path.rglob("*.db"))) == 2


def test_a_file_is_as_large_as_what_it_holds(tmp_path: Path) -> None:
    for number in range(2):
        leave(tmp_path, GONE[number], 1)
    sums(tmp_path)
    (counter,) = tmp_path.rglob("counter_*.db")
    assert counter.stat().st_size < 1024


def test_a_file_that_is_just_being_made_holds_nothing_yet(tmp_path: Path) -> None:
    leave(tmp_path, os.getpid(), 1)
    (tmp_path / f"counter_{GONE[0]}.db").touch()
    (tmp_path / f"summary_{os.getpid()}.db").touch()
    assert sums(tmp_path)["requests_total/a"] == 1
    assert not (tmp_path / f"counter_{GONE[0]}.db").exists()


def test_somebody_elses_process_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError

    assert is_alive(os.getpid())
    assert not is_alive(GONE[0])
    monkeypatch.setattr(os, "kill", refuse)
    assert is_alive(1)
