from __future__ import annotations

import os
from pathlib import Path

import pytest

from dynaserve.rlaa.llm import cores
from dynaserve.rlaa.llm.cores import physical_cores


@pytest.fixture
def eight_threads_on_four_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for cpu in range(8):
        topology = tmp_path / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{cpu % 4},{cpu % 4 + 4}\n")
    monkeypatch.setattr(cores, "_allowed", lambda: set(range(8)))
    return tmp_path


def test_threads_of_one_core_count_once(eight_threads_on_four_cores: Path) -> None:
    assert physical_cores(eight_threads_on_four_cores, Path("/nonexistent")) == 4


def test_cores_that_the_process_may_not_use_do_not_count(
    eight_threads_on_four_cores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cores, "_allowed", lambda: {0, 1, 4})
    assert physical_cores(eight_threads_on_four_cores, Path("/nonexistent")) == 2


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("200000 100000", 2), ("50000 100000", 1), ("max 100000", 4), ("900000 100000", 4)],
)
def test_a_container_limits_them(
    eight_threads_on_four_cores: Path, tmp_path: Path, limit: str, expected: int
) -> None:
    quota = tmp_path / "cpu.max"
    quota.write_text(limit + "\n")
    assert physical_cores(eight_threads_on_four_cores, quota) == expected


def test_without_a_topology_every_processor_counts(tmp_path: Path) -> None:
    assert 1 <= physical_cores(tmp_path, Path("/nonexistent")) <= (os.cpu_count() or 1)
