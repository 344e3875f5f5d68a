"""The sweeps that are measured, and their plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from benchmarks import scaling
from tests.benchmarks.results import scaled


def test_sweeps_reach_as_far_as_they_should() -> None:
    over_classes, *over_rows = scaling.SWEEPS
    assert [size[1] for size in over_classes.sizes][:: len(over_classes.sizes) - 1] == [10, 200000]
    for sweep in over_rows:
        assert [size[0] for size in sweep.sizes][:: len(sweep.sizes) - 1] == [1, 65536]


def test_a_sweep_measures_each_kernel_at_each_size() -> None:
    sweep = scaling.Sweep("2 rows", "classes", [(2, 10), (2, 20)])
    measured = scaling.measure(sweep, 0.0)
    assert set(measured["seconds"]) == set(scaling.STYLES)
    assert all(len(seconds) == 2 for seconds in measured["seconds"].values())


def test_both_kernels_are_compared_with_themselves_on_two_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []

    def time_rounds(contenders: dict[str, Any], *, seconds: float) -> dict[str, Any]:
        assert seconds == 0.5
        asked.extend((name, calls[0][0].keywords) for name, calls in contenders.items())
        return {"1": [3.0, 3.0], "2": [2.0, 2.0]}

    monkeypatch.setattr(scaling, "time_rounds", time_rounds)
    assert scaling.speedup((2, 10), 0.5) == {"dynanoise": 1.5, "rank_template": 1.5}
    assert asked == [("1", {"threads": 1}), ("2", {"threads": 2})] * 2


def test_the_plot_is_a_small_png(tmp_path: Path) -> None:
    path = tmp_path / "plot.png"
    scaling.draw(scaled(), path)
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert min(image.size) > 500
    assert path.stat().st_size < 200_000
