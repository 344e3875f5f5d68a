"""RMIA against its definition, pair by pair, and on a world whose best AUC is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from dynaserve.mia import metrics
from dynaserve.mia.attacks import Evidence, References
from dynaserve.mia.attacks.rmia import RmiaOffline, RmiaOnline


def world(shadows: int, rows: int, gain: float, seed: int = 0) -> tuple[Evidence, np.ndarray]:
    """Return answers in which log p_y is a row's own plus the gain of members plus noise."""
    rng = np.random.default_rng(seed)
    member = rng.random((shadows, rows)).argsort(axis=0) < shadows // 2
    target = rng.random(rows) < 0.5
    log_own = -6 + rng.normal(size=rows) + gain * np.stack([target, *member])
    log_own = np.minimum(log_own + 0.5 * rng.normal(size=log_own.shape), -0.01)
    log_p = np.stack([log_own, np.log1p(-np.exp(log_own))], axis=-1)
    return Evidence(
        log_p, np.zeros(log_own.shape), np.zeros(rows, int), References(member, 0), 0
    ), target


@pytest.mark.parametrize("gamma", [1.0, 2.0])
def test_the_score_counts_the_rows_that_gain_less(gamma: float) -> None:
    evidence, _ = world(8, 40, 1.0)
    assert evidence.references is not None
    p, (inside, outside) = np.exp(evidence.log_p[..., 0]), evidence.references.of(0)
    average = np.array(
        [
            (p[1:][inside[:, row], row].mean() + p[1:][outside[:, row], row].mean()) / 2
            for row in range(40)
        ]
    )
    gain = p[0] / average
    literal = [np.mean([x / z > gamma for z in gain]) for x in gain]
    np.testing.assert_allclose(RmiaOnline(gamma=gamma).scores(evidence)[0], literal)


@pytest.mark.parametrize("a", [0.0, 0.3, 1.0])
def test_offline_takes_the_average_from_out_shadows_alone(a: float) -> None:
    evidence, _ = world(8, 40, 1.0)
    assert evidence.references is not None
    p, (_, outside) = np.exp(evidence.log_p[..., 0]), evidence.references.of(0)
    out = np.array([p[1:][outside[:, row], row].mean() for row in range(40)])
    gain = p[0] / (((1 + a) * out + (1 - a)) / 2)
    literal = [np.mean(x > gain) for x in gain]
    np.testing.assert_allclose(RmiaOffline(a=a).scores(evidence)[0], literal)


def test_offline_takes_all_shadows_without_the_row() -> None:
    evidence, _ = world(8, 40, 1.0)
    rng = np.random.default_rng(1)
    member = rng.random((8, 40)) < 0.25
    member[:3] = False
    for flags in (member, np.zeros_like(member)):
        uneven = Evidence(evidence.log_p, evidence.hits, evidence.labels, References(flags, 0), 0)
        p = np.exp(evidence.log_p[..., 0])
        out = np.array([p[1:][~flags[:, row], row].mean() for row in range(40)])
        gain = p[0] / ((1.3 * out + 0.7) / 2)
        literal = [np.mean(x > gain) for x in gain]
        np.testing.assert_allclose(RmiaOffline(a=0.3).scores(uneven)[0], literal)


def test_a_temperature_softens_the_answers_first() -> None:
    evidence, _ = world(8, 40, 1.0)
    z = evidence.log_p / 3
    softened = Evidence(
        z - np.log(np.exp(z).sum(axis=-1, keepdims=True)),
        evidence.hits,
        evidence.labels,
        evidence.references,
        0,
    )
    np.testing.assert_allclose(
        RmiaOnline(temperature=3.0).scores(evidence), RmiaOnline().scores(softened)
    )


def test_with_many_shadows_it_reaches_the_best_possible_auc() -> None:
    evidence, target = world(64, 2500, 1.0)
    best = norm.cdf(1.0 / 0.5 / math.sqrt(2))
    for attack in (RmiaOnline(), RmiaOffline(a=1.0)):
        auc = metrics.roc_auc(attack.scores(evidence)[0], target)
        assert auc == pytest.approx(best, abs=0.03)


def test_a_row_no_model_believes_in_divides_nothing_by_zero() -> None:
    member = np.array([[1, 1, 0, 0]] * 5, bool).T
    log_p = np.zeros((5, 5, 2))
    log_p[..., 0] = -1e4
    evidence = Evidence(log_p, np.zeros((5, 5)), np.zeros(5, int), References(member, 0), 0)
    assert np.isfinite(RmiaOnline().scores(evidence)).all()
