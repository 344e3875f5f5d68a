"""The limits that ``python -m benchmarks.bulk`` holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import bulk
from benchmarks.bulk_command import Timing


def test_a_worker_may_hold_a_gibibyte_and_no_more() -> None:
    bulk.require_small(Timing(1, 1, 1024))
    with pytest.raises(SystemExit, match="a worker held 1025 MiB, more than 1024"):
        bulk.require_small(Timing(1, 1, 1025))


def test_two_workers_have_to_be_faster_where_there_is_enough_to_do() -> None:
    bulk.require_faster(500_000, 1.6)
    bulk.require_faster(499_999, 0.5)
    with pytest.raises(SystemExit, match=r"1\.59 times as fast, less than 1\.6"):
        bulk.require_faster(500_000, 1.59)


def test_moments_are_those_of_their_seed_and_end_before_the_run_would() -> None:
    moments = bulk.moments_of(7, 5, 100.0)
    assert moments == bulk.moments_of(7, 5, 100.0) != bulk.moments_of(8, 5, 100.0)
    assert len(moments) == 5
    assert sum(moments) < 100
    assert bulk.moments_of(7, 0, 100.0) == []


class Ended:
    """A command that is done before it is killed."""

    class process:  # noqa: N801 - as it is there
        @staticmethod
        def wait(_: float) -> int:
            return 0

        @staticmethod
        def poll() -> int:
            return 0

    def __init__(self, *_: object) -> None:
        pass

    def ends(self) -> None:
        pass


def test_fewer_kills_than_asked_for_are_no_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "Command", Ended)
    with pytest.raises(SystemExit, match="it ended after 0 of 2 kills"):
        bulk.killed_run((), tmp_path, [0.0, 0.0])
