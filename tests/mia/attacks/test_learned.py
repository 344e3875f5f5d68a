"""Learned attackers: what they can pick up, and that they learn nothing of the row they score."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest

from dynaserve.mia import metrics
from dynaserve.mia.attacks import ATTACKS, Evidence, References
from dynaserve.mia.attacks.learned import Boosted, ShadowClassifier, cross_fitted


def world(shadows: int, rows: int, classes: int, seed: int = 0) -> tuple[Evidence, np.ndarray]:
    """Return models that put a member's second class where nothing but the order shows it."""
    rng = np.random.default_rng(seed)
    member = rng.random((shadows, rows)).argsort(axis=0) < shadows // 2
    target = rng.random(rows) < 0.5
    labels = rng.integers(0, classes, rows)
    partner = (labels + 1 + rng.integers(0, classes - 1, rows)) % classes
    other = np.where((labels + 1) % classes == partner, labels + 2, labels + 1) % classes
    p = np.full((shadows + 1, rows, classes), 0.02)
    p[:, np.arange(rows), labels] = 0.6
    trained = np.stack([target, *member])
    for model in range(shadows + 1):
        second = np.where(trained[model], partner, other)
        p[model, np.arange(rows), second] = 0.2
    log_p = np.log(p / p.sum(axis=-1, keepdims=True))
    hits = np.ones((shadows + 1, rows))
    return Evidence(log_p, hits, labels, References(member, seed), seed), target


def test_boosted_finds_a_leak_in_the_order_that_every_statistic_misses() -> None:
    evidence, target = world(8, 400, 6)
    for name in ("confidence", "entropy", "modified_entropy", "lira_online", "rmia_online"):
        for attack in ATTACKS[name]:
            auc = metrics.roc_auc(metrics.rounded(attack.scores(evidence)[0]), target)
            assert auc == pytest.approx(0.5, abs=1e-9)
    assert metrics.roc_auc(Boosted().scores(evidence)[0], target) > 0.95


def test_shadow_classifier_learns_a_band_that_no_threshold_cuts_out() -> None:
    rng = np.random.default_rng(1)
    member = rng.random((8, 400)).argsort(axis=0) < 4
    target = rng.random(400) < 0.5
    trained = np.stack([target, *member])
    logit = np.where(trained, 0.3, 3.0) * np.sign(rng.normal(size=trained.shape))
    log_p = np.stack([-np.logaddexp(0, -logit), -np.logaddexp(0, logit)], axis=-1)
    evidence = Evidence(
        log_p, (logit > 0).astype(float), np.zeros(400, int), References(member, 0), 0
    )
    assert abs(metrics.roc_auc(logit[0], target) - 0.5) < 0.1
    assert metrics.roc_auc(ShadowClassifier().scores(evidence)[0], target) > 0.95


def test_no_row_is_scored_by_a_classifier_that_saw_it() -> None:
    # Membership is noise; the row's number is the only feature that could memorize it.
    rng = np.random.default_rng(2)
    member = np.repeat(rng.random((1, 300)) < 0.5, 8, axis=0)
    member[4:] = ~member[4:]
    labels = np.zeros(300, int)
    evidence = Evidence(
        np.log(np.full((9, 300, 2), 0.5)), np.ones((9, 300)), labels, References(member, 0), 0
    )
    which = np.repeat([0, 1], 4)[:, None]
    features = np.zeros((9, 300, 3))
    features[..., 1] = np.arange(300)
    features[1:, :, 2] = which
    scores = cross_fitted(features, evidence, iterations=50)
    aucs = [metrics.roc_auc(*pair) for pair in zip(scores[1:], member, strict=True)]
    assert abs(np.mean(aucs) - 0.5) < 0.1


def test_the_same_seed_gives_the_same_scores() -> None:
    evidence, _ = world(6, 100, 4)
    np.testing.assert_array_equal(Boosted().scores(evidence), Boosted().scores(evidence))


def test_more_classes_than_a_category_may_have() -> None:
    rng = np.random.default_rng(3)
    log_p = rng.normal(size=(5, 40, 300))
    log_p -= np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    member = np.array([[1, 1, 0, 0]] * 40, bool).T
    evidence = Evidence(log_p, np.zeros((5, 40)), np.arange(40) + 260, References(member, 0), 0)
    assert np.isfinite(Boosted().scores(evidence)).all()


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("sklearn"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    evidence, _ = world(4, 20, 3)
    with pytest.raises(ImportError, match=r"dynaserve\[audit\]"):
        ShadowClassifier().scores(evidence)
