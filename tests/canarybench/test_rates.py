from __future__ import annotations

import math

import pytest
from scipy.stats import binom, binomtest

from dynaserve.canarybench.rates import Rate, clopper_pearson


@pytest.mark.parametrize(("found", "total"), [(0, 7), (1, 7), (3, 7), (7, 7), (51, 1835), (1, 1)])
def test_it_is_the_exact_interval_of_another_library(found, total):
    other = binomtest(found, total).proportion_ci(0.95, method="exact")
    assert clopper_pearson(found, total) == pytest.approx((other.low, other.high), abs=1e-12)


def test_its_ends_are_where_the_tails_are_two_and_a_half_percent():
    low, high = clopper_pearson(5, 60)
    assert binom.sf(4, 60, low) == pytest.approx(0.025)
    assert binom.cdf(5, 60, high) == pytest.approx(0.025)


def test_zero_of_n_has_the_closed_form_upper_end():
    assert clopper_pearson(0, 1835)[1] == pytest.approx(1 - 0.025 ** (1 / 1835))
    assert clopper_pearson(0, 1835)[0] == 0


def test_another_confidence_is_another_interval():
    assert clopper_pearson(0, 10, confidence=0.9)[1] == pytest.approx(1 - 0.05**0.1)


def test_nothing_looked_at_says_nothing():
    rate = Rate(0, 0)
    assert math.isnan(rate.value)
    assert (rate.low, rate.high) == (0, 1)
    assert rate.to_dict()["value"] is None


def test_a_rate_in_words():
    assert str(Rate(1, 4)) == "1 of 4 = 25.0% [0.6%, 80.6%]"
    assert Rate(1, 4).to_dict() == {
        "value": 0.25,
        "low": pytest.approx(0.00631, abs=1e-5),
        "high": pytest.approx(0.80588, abs=1e-5),
        "found": 1,
        "total": 4,
    }


@pytest.mark.parametrize(("found", "total"), [(2, 1), (-1, 3)])
def test_more_than_all_is_refused(found, total):
    with pytest.raises(ValueError, match="is none"):
        Rate(found, total)
