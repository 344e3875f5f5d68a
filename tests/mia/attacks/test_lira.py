"""LiRA on answers with known distributions: its AUC must be that of the likelihood ratio."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from dynaserve.mia import metrics
from dynaserve.mia.attacks import Evidence, References
from dynaserve.mia.attacks.lira import LabelLira, LabelLiraGaussian, LiraOffline, LiraOnline


def answers(logit: np.ndarray) -> np.ndarray:
    """Return log-probabilities of two classes in which log(p_0 / (1 - p_0)) is the logit."""
    return np.stack([-np.logaddexp(0, -logit), -np.logaddexp(0, logit)], axis=-1)


def normal_world(
    shadows: int, rows: int, distance: float, *, spread: float = 1.0, seed: int = 0
) -> tuple[Evidence, np.ndarray]:
    """Return evidence in which each row has its own mean, members lie a distance above it."""
    rng = np.random.default_rng(seed)
    member = rng.random((shadows, rows)).argsort(axis=0) < shadows // 2
    target = rng.random(rows) < 0.5
    logit = rng.normal(scale=3, size=rows) + distance * np.stack([target, *member])
    logit = logit + rng.normal(scale=spread, size=logit.shape)
    log_p = answers(logit)
    hits = (logit > 0).astype(float)
    labels = np.zeros(rows, int)
    return Evidence(log_p, hits, labels, References(member, seed), seed), target


def test_the_logit_is_recovered() -> None:
    evidence, _ = normal_world(4, 100, 1.0)
    np.testing.assert_allclose(np.exp(evidence.log_p).sum(axis=-1), 1)
    p = np.exp(evidence.log_p[..., 0])
    np.testing.assert_allclose(evidence.logit, np.log(p / (1 - p)), atol=1e-6)


@pytest.mark.parametrize("attack", [LiraOnline(), LiraOffline()])
def test_with_many_shadows_it_reaches_the_best_possible_auc(attack: LiraOnline) -> None:
    # Row means differ far more than members from non-members, and are estimated from 32.
    evidence, target = normal_world(64, 2500, 1.5)
    scores = attack.scores(evidence)
    best = norm.cdf(1.5 / math.sqrt(2))
    assert metrics.roc_auc(scores[0], target) == pytest.approx(best, abs=0.03)
    # A threshold without shadows sees little: its spread is that of the row means too.
    plain = norm.cdf(1.5 / math.sqrt(2 * (1 + 9)))
    assert metrics.roc_auc(evidence.logit[0], target) == pytest.approx(plain, abs=0.03)


def test_each_shadow_is_scored_as_well_as_the_target() -> None:
    evidence, _ = normal_world(48, 1000, 1.5)
    assert evidence.references is not None
    scores = LiraOnline().scores(evidence)[1:]
    aucs = [metrics.roc_auc(*pair) for pair in zip(scores, evidence.references.member, strict=True)]
    assert np.mean(aucs) == pytest.approx(norm.cdf(1.5 / math.sqrt(2)), abs=0.03)


def test_few_shadows_are_better_served_by_one_deviation_for_all() -> None:
    evidence, target = normal_world(8, 4000, 1.5)
    fixed = metrics.roc_auc(LiraOnline().scores(evidence)[0], target)
    own = metrics.roc_auc(LiraOnline(per_example=True).scores(evidence)[0], target)
    assert fixed > own + 0.02


def test_the_score_is_the_formula() -> None:
    evidence, _ = normal_world(8, 20, 1.0)
    assert evidence.references is not None
    phi, (inside, outside) = evidence.logit, evidence.references.of(0)
    sides = []
    for mask in (inside, outside):
        columns = [phi[1:][mask[:, row], row] for row in range(20)]
        center = np.array([np.median(column) for column in columns])
        pooled = np.std(np.concatenate([c - m for c, m in zip(columns, center, strict=True)]))
        each = np.array([np.std(column) for column in columns])
        sides.append((center, pooled, each))
    (m_in, s_in, e_in), (m_out, s_out, e_out) = sides
    np.testing.assert_allclose(
        LiraOnline().scores(evidence)[0],
        norm.logpdf(phi[0], m_in, s_in) - norm.logpdf(phi[0], m_out, s_out),
    )
    np.testing.assert_allclose(
        LiraOnline(per_example=True).scores(evidence)[0],
        norm.logpdf(phi[0], m_in, e_in) - norm.logpdf(phi[0], m_out, e_out),
    )
    # Equation 4 up to the strictly rising Phi.
    np.testing.assert_allclose(
        norm.cdf(LiraOffline().scores(evidence)[0]), norm.cdf((phi[0] - m_out) / s_out)
    )


@pytest.mark.parametrize("kind", ["uneven", "out only"])
def test_offline_is_the_formula_over_all_shadows_without_the_row(kind: str) -> None:
    rng = np.random.default_rng(2)
    member = rng.random((9, 20)) < 0.3
    member[:2] = False
    if kind == "out only":
        member[:] = False
    logit = rng.normal(scale=3, size=20) + rng.normal(size=(10, 20))
    evidence = Evidence(
        answers(logit), np.zeros((10, 20)), np.zeros(20, int), References(member, 0), 0
    )
    columns = [logit[1:][~member[:, row], row] for row in range(20)]
    center = np.array([np.median(column) for column in columns])
    each = np.array([np.std(column) for column in columns])
    pooled = np.std(np.concatenate([c - m for c, m in zip(columns, center, strict=True)]))
    for attack, spread in ((LiraOffline(), pooled), (LiraOffline(per_example=True), each)):
        np.testing.assert_allclose(attack.scores(evidence)[0], (logit[0] - center) / spread)
        assert np.isfinite(attack.scores(evidence)).all()


def test_a_surplus_of_shadows_without_the_row_makes_the_offline_attack_stronger() -> None:
    evidence, target = normal_world(64, 2500, 1.5)
    assert evidence.references is not None
    # Two shadows have the row, 32 have not: as many OUT as IN would leave two of them.
    kept = evidence.references.member & (evidence.references.member.cumsum(axis=0) <= 2)
    few = Evidence(evidence.log_p, evidence.hits, evidence.labels, References(kept, 0), 0)
    auc = metrics.roc_auc(LiraOffline().scores(few)[0], target)
    # The other 30 of the row's shadows count as OUT here: their answers are half a distance off.
    assert auc == pytest.approx(norm.cdf(1.5 / math.sqrt(2)), abs=0.03)


def test_constant_answers_are_no_division_by_zero() -> None:
    member = np.array([[1, 1, 0, 0]] * 30, bool).T
    logit = np.zeros((5, 30))
    evidence = Evidence(
        answers(logit), np.zeros((5, 30)), np.zeros(30, int), References(member, 0), 0
    )
    for attack in (LiraOnline(), LiraOnline(per_example=True), LiraOffline(), LiraOffline(True)):
        assert np.isfinite(attack.scores(evidence)).all()


def test_label_lira_is_the_smoothed_ratio_by_hand() -> None:
    # Three IN and three OUT shadows: 3 right and 1 right.
    member = np.array([1, 1, 1, 0, 0, 0], bool)[:, None]
    hits = np.array([1, 1, 1, 1, 1, 0, 0.0])[:, None]
    evidence = Evidence(answers(hits), hits, np.zeros(1, int), References(member, 0), 0)
    right = LabelLira().scores(evidence)[0, 0]
    assert right == pytest.approx(math.log((3.5 / 4) / (1.5 / 4)))
    evidence = Evidence(answers(hits), 1 - hits, np.zeros(1, int), References(member, 0), 0)
    wrong = LabelLira().scores(evidence)[0, 0]
    assert wrong == pytest.approx(math.log((3.5 / 4) / (1.5 / 4)))


@pytest.mark.parametrize("attack", [LabelLira(), LabelLiraGaussian()])
def test_label_attacks_read_the_labels_only(attack: LabelLira) -> None:
    evidence, _ = normal_world(8, 200, 2.0)
    other = Evidence(
        evidence.log_p[:, ::-1], evidence.hits, evidence.labels, evidence.references, 0
    )
    np.testing.assert_array_equal(attack.scores(evidence), attack.scores(other))


def test_label_lira_gains_on_the_gap_where_rows_differ_in_difficulty() -> None:
    evidence, target = normal_world(32, 2500, 2.0)
    gap = metrics.roc_auc(evidence.hits[0], target)
    lira = metrics.roc_auc(metrics.rounded(LabelLira().scores(evidence)[0]), target)
    assert lira > gap + 0.03
