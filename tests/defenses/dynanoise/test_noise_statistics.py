"""The released noise is what it claims to be: standard normal, independent, scaled by R.

The noise is read back from what a client sees: at T = 1, log p_j - log p_0 is x_j - x_0 plus
s (g_j - g_0). Keys come from fixed queries or from a fixed stream in place of the operating
system's, so that these tests give the same verdict each time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from dynaserve import DynaNoise

ROWS, CLASSES = 20_000, 8


def keyed() -> Callable[[np.ndarray, float, float], np.ndarray]:
    def release(x: np.ndarray, variance: float, scale: float) -> np.ndarray:
        defense = DynaNoise.keyed(bytes(range(32)), variance, scale)
        # The reordering of kept labels is not wanted here.
        config = defense.config.model_copy(update={"preserve_top1": False})
        plain = DynaNoise(config, key=bytes(range(32)))
        return plain(x, queries=np.arange(len(x)))

    return release


def fresh() -> Callable[[np.ndarray, float, float], np.ndarray]:
    def release(x: np.ndarray, variance: float, scale: float) -> np.ndarray:
        return DynaNoise.paper(variance, scale, 1.0)(x)

    return release


@pytest.fixture(params=[keyed, fresh], ids=["keyed", "fresh"])
def release(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[np.ndarray, float, float], np.ndarray]:
    rng = np.random.default_rng(2024)
    monkeypatch.setattr("os.urandom", rng.bytes)
    return request.param()


def differences(p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the noise of each class less that of class 0, (rows, CLASSES - 1)."""
    noisy = np.log(p.astype(np.float64))
    return (noisy[:, 1:] - noisy[:, :1]) - (x[:, 1:] - x[:, :1])


def test_the_noise_is_normal_with_the_stated_variance(release: Callable) -> None:
    x = np.zeros((ROWS, CLASSES))
    d = differences(release(x, 0.5, 2.0), x)
    # Pairs (0,1), (2,3), ... share no normal: their differences are independent, variance 2 s².
    log_p = np.log(release(x, 0.5, 2.0).astype(np.float64))
    pairs = ((log_p[:, 1::2] - log_p[:, ::2]) / np.sqrt(2 * 0.5)).ravel()
    assert abs(pairs.mean()) < 4 / np.sqrt(pairs.size)
    assert abs(pairs.var() - 1) < 4 * np.sqrt(2 / pairs.size)
    assert abs(stats.skew(pairs)) < 4 * np.sqrt(6 / pairs.size)
    assert abs(stats.kurtosis(pairs)) < 4 * np.sqrt(24 / pairs.size)
    assert stats.kstest(pairs, "norm").pvalue > 1e-3
    np.testing.assert_allclose(d.var(axis=0), 1.0, rtol=0.05)


def test_classes_are_independent(release: Callable) -> None:
    x = np.zeros((ROWS, CLASSES))
    d = differences(release(x, 0.5, 0.0), x)
    # Cov(g_i - g_0, g_j - g_0) is s² for i != j and 2 s² for i = j.
    expected = 0.5 * (np.ones((CLASSES - 1, CLASSES - 1)) + np.eye(CLASSES - 1))
    np.testing.assert_allclose(np.cov(d.T), expected, atol=6 * 0.5 * np.sqrt(2 / ROWS) * 1.5)


def test_rows_are_independent(release: Callable) -> None:
    x = np.zeros((ROWS, CLASSES))
    d = differences(release(x, 0.5, 0.0), x)
    for lag in (1, 2, 7, 64):
        correlation = np.corrcoef(d[:-lag].ravel(), d[lag:].ravel())[0, 1]
        assert abs(correlation) < 5 / np.sqrt(ROWS)
    assert len(np.unique(d[:, 0])) > 0.99 * ROWS


@pytest.mark.parametrize("margin", [0.0, 1.0, 3.0, 6.0])
def test_sigma_follows_the_sensitivity(release: Callable, margin: float) -> None:
    x = np.zeros((ROWS, CLASSES))
    x[:, 3] = margin
    r = float(DynaNoise.paper().sensitivity(x[0]))
    d = differences(release(x, 0.2, 5.0), x)
    variance = d[:, 0].var() / 2
    assert variance == pytest.approx(0.2 * (1 + 5.0 * r), rel=5 * np.sqrt(2 / ROWS))


def test_averaging_repeats_recovers_fresh_noise_but_not_keyed() -> None:
    x, queries = np.array([[2.0, 0.0, -1.0]] * 400), [b"the same"] * 400
    logged = np.log(DynaNoise.paper(0.3, 2.0, 1.0)(x).astype(np.float64))
    recovered = (logged - logged[:, :1]).mean(axis=0)
    np.testing.assert_allclose(recovered, [0.0, -2.0, -3.0], atol=0.5)
    keyed_answers = DynaNoise.keyed(bytes(range(32)))(x, queries=queries)
    assert len(np.unique(keyed_answers, axis=0)) == 1
