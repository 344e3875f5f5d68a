from __future__ import annotations

import math

from dynaserve.rlaa.evaluation.results import MRSRound, mrs_round


def test_quartiles_are_values_that_occur():
    assert mrs_round([0.5, 0.1, 0.3, 0.2, 0.4]) == MRSRound(5, 0.2, 0.3, 0.4, 0)
    assert mrs_round([0.5]) == MRSRound(1, 0.5, 0.5, 0.5, 0)


def test_an_infinite_quartile_is_none_and_counted():
    assert mrs_round([math.inf, 0.1, math.inf]) == MRSRound(3, 0.1, None, None, 2)
