"""Ratios with intervals."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import spread


def test_a_ratio_is_that_of_the_statistic_over_all_rounds() -> None:
    below = [np.array([1.0, 2.0]), np.array([3.0, 100.0])]
    above = [2 * samples for samples in below]
    assert spread.ratio(above, below, np.median).value == 2.0
    assert spread.ratio(above, [np.ones(2)] * 2, np.sum).value == 212.0 / 4


def test_what_hits_both_of_a_round_widens_no_interval() -> None:
    below = [np.full(10, slow) for slow in (1.0, 5.0, 2.0, 9.0)]
    result = spread.ratio([1.5 * samples for samples in below], below, np.sum)
    assert result == pytest.approx((1.5, 1.5, 1.5))


def test_the_interval_holds_the_ratios_of_the_rounds() -> None:
    below = [np.ones(5)] * 20
    above = [np.full(5, 1.0 + 0.1 * (i % 2)) for i in range(20)]
    result = spread.ratio(above, below, np.mean)
    assert 1.0 < result.low < result.value < result.high < 1.1
    assert result == spread.ratio(above, below, np.mean)


@pytest.mark.parametrize("counts", [(2, 3), (1, 1), (0, 0)])
def test_rounds_must_be_pairs(counts: tuple[int, int]) -> None:
    above, below = ([np.ones(3)] * count for count in counts)
    with pytest.raises(ValueError, match="pairs"):
        spread.ratio(above, below, np.sum)


def test_percent_is_the_change_and_half_the_interval() -> None:
    assert spread.Ratio(1.02, 1.01, 1.04).percent() == "+2.0% ± 1.5"
    assert spread.Ratio(0.9, 0.85, 0.95).percent() == "-10.0% ± 5.0"
