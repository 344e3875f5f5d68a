"""The gate's decisions, from made-up measurements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from benchmarks import check
from benchmarks.check import NOTHING_CHECKED, Ratios, best_of, limits_of, ratios, section_of

HERE = "a processor"
KERNELS = ["dynanoise", "rank_template"]


def flat(ratio: float) -> Ratios:
    return {(kernel, size): ratio for kernel in KERNELS for size in check.SIZES}


def section(ratio: float, processor: str = HERE) -> dict[str, Any]:
    return section_of([flat(ratio)], processor)


@pytest.fixture
def bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Bounds for kernels that take as long as softmax, measured on this processor."""
    path = tmp_path / "bounds.toml"
    monkeypatch.setattr(check, "BOUNDS", path)
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.setattr(check, "measure", lambda sizes: only(flat(1.0), sizes))
    monkeypatch.setattr(check.machine, "facts", dict)
    monkeypatch.setattr(check.machine, "processor", lambda _: HERE)
    assert check.write_bounds(Console()) == 0
    return path


def only(found: Ratios, sizes: list[str]) -> Ratios:
    return {case: ratio for case, ratio in found.items() if case[1] in sizes}


def test_ratios_are_those_of_fast_rounds() -> None:
    slow_spell = np.array([9.0] * 8)
    taken = {
        "dynanoise": np.concatenate([[2.0] * 2, slow_spell]),
        "softmax": np.array([1.0] * 10),
    }
    assert ratios("1x10", taken) == {("dynanoise", "1x10"): 2.0}


def test_only_what_is_beyond_its_limit_is_measured_again_and_the_best_counts() -> None:
    asked = []
    answers = iter([{("k", "1x10"): 1.0, ("k", "64x10"): 3.0}, {("k", "64x10"): 1.5}])

    def measure(sizes: list[str]) -> Ratios:
        asked.append(sizes)
        return next(answers)

    best = best_of(measure, {("k", "1x10"): 2.0, ("k", "64x10"): 2.0}, attempts=5)
    assert asked == [["1x10", "64x10"], ["64x10"]]
    assert best == {("k", "1x10"): 1.0, ("k", "64x10"): 1.5}


def test_attempts_end() -> None:
    asked = []
    best = best_of(
        lambda sizes: asked.append(sizes) or {("k", "1x10"): 3.0}, {("k", "1x10"): 2.0}, 4
    )
    assert len(asked) == 4
    assert best == {("k", "1x10"): 3.0}


def test_bounds_are_the_median_and_some_headroom() -> None:
    made = section_of([{("dynanoise", "1x10"): ratio} for ratio in (1.0, 5.0, 2.0)], HERE)
    assert made == {"processor": HERE, "dynanoise": {"1x10": round(2 * check.HEADROOM, 3)}}


def test_headroom_lies_between_noise_and_what_must_be_caught() -> None:
    assert 1.08 < check.HEADROOM < 1.3 / 1.08


def test_bounds_are_looser_on_another_processor() -> None:
    here = limits_of(section(1.0), HERE)
    elsewhere = limits_of(section(1.0), "another")
    assert here == flat(check.HEADROOM)
    assert elsewhere == flat(check.HEADROOM * check.ELSEWHERE)


def test_a_missing_bound_is_no_pass() -> None:
    incomplete = section(1.0)
    del incomplete["rank_template"]["1x32000"]
    with pytest.raises(KeyError, match="1x32000"):
        limits_of(incomplete, HERE)


@pytest.mark.usefixtures("bounds")
def test_an_unchanged_kernel_passes() -> None:
    assert check.check(Console()) == 0


@pytest.mark.usefixtures("bounds")
def test_one_kernel_30_percent_slower_at_one_size_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = flat(1.0) | {("rank_template", "64x1000"): 1.3}
    monkeypatch.setattr(check, "measure", lambda sizes: only(slow, sizes))
    assert check.check(Console()) == 1
    verdicts = [line for line in capsys.readouterr().out.splitlines() if "too slow" in line]
    assert len(verdicts) == 1
    assert "rank_template" in verdicts[0]
    assert "64x1000" in verdicts[0]


def test_without_bounds_for_the_instruction_set_nothing_is_checked(
    bounds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bounds.write_text("")
    assert check.check(Console()) == NOTHING_CHECKED
    assert "nothing was checked" in capsys.readouterr().out


def test_new_bounds_leave_those_of_other_instruction_sets(bounds: Path) -> None:
    bounds.write_text('[other]\nprocessor = "x"\n')
    check.write_bounds(Console())
    written = check.tomllib.loads(bounds.read_text())
    assert written["other"] == {"processor": "x"}
    assert len(written) == 2


def test_the_repository_holds_complete_bounds() -> None:
    for section in check.tomllib.loads(check.BOUNDS.read_text()).values():
        assert len(limits_of(section, HERE)) == len(KERNELS) * len(check.SIZES)


def test_a_measurement_names_every_kernel_and_no_softmax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "SECONDS", 0.0)
    found = check.measure_here(["2x10"])
    assert set(found) == {(kernel, "2x10") for kernel in KERNELS}
    assert all(ratio > 0 for ratio in found.values())
