"""Who is compared with whom, and that the comparison itself gives nothing away."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dynaserve.mia import metrics
from dynaserve.mia.attacks import ATTACKS, Evidence, References
from dynaserve.mia.attacks.evidence import deviation, mean, median, random_of


def balanced(shadows: int, rows: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.random((shadows, rows)).argsort(axis=0) < shadows // 2


def unequal(shadows: int, rows: int, seed: int = 0) -> np.ndarray:
    member = np.random.default_rng(seed).random((shadows, rows)) < 0.5
    member[:2], member[2:4] = True, False
    return member


@pytest.mark.parametrize("member", [balanced(8, 50), unequal(9, 50)])
def test_every_row_has_as_many_in_as_out_whoever_is_attacked(member: np.ndarray) -> None:
    references = References(member, seed=0)
    fewest = np.minimum(member.sum(axis=0), (~member).sum(axis=0))
    for model in range(len(member) + 1):
        inside, outside = references.of(model)
        expected = fewest - (model > 0)
        assert (inside.sum(axis=0) == expected).all()
        assert (outside.sum(axis=0) == expected).all()
        assert not (inside & ~member).any()
        assert not (outside & member).any()


def test_a_shadow_never_judges_itself() -> None:
    references = References(balanced(6, 40), seed=0)
    for shadow in range(6):
        inside, outside = references.of(shadow + 1)
        assert not (inside | outside | references.out(shadow + 1))[shadow].any()


@pytest.mark.parametrize("member", [unequal(9, 50), np.zeros((5, 50), bool)], ids=["some", "none"])
def test_an_offline_attack_on_the_target_takes_every_shadow_without_the_row(
    member: np.ndarray,
) -> None:
    np.testing.assert_array_equal(References(member, seed=0).out(0), ~member)


def test_whether_a_shadow_had_the_row_does_not_show_in_how_many_judge_it() -> None:
    member = unequal(9, 50)
    references = References(member, seed=0)
    for model in range(1, 10):
        outside = references.out(model)
        assert (outside.sum(axis=0) == (~member).sum(axis=0) - 1).all()
        assert not (outside & member).any()


def test_rows_that_no_shadow_had_leave_the_offline_attacks() -> None:
    member = balanced(6, 40)
    member[:, 7] = False
    scarce = References(member, seed=0)
    assert not scarce.online
    with pytest.raises(ValueError, match="trained on each row"):
        scarce.of(0)
    possible = {name for name, (one, *_) in ATTACKS.items() if one.possible_with(scarce)}
    without = {name for name, (one, *_) in ATTACKS.items() if one.possible_with(None)}
    assert possible - without == {"lira_offline", "lira_offline_per_example", "rmia_offline"}
    assert without == {"gap", "confidence", "loss", "entropy", "modified_entropy"}
    assert all(one.possible_with(References(balanced(6, 40), 0)) for one, *_ in ATTACKS.values())


def test_the_target_of_balanced_shadows_is_compared_with_all() -> None:
    member = balanced(6, 40)
    inside, outside = References(member, seed=0).of(0)
    np.testing.assert_array_equal(inside, member)
    np.testing.assert_array_equal(outside, ~member)


def test_statistics_are_those_of_the_masked_values() -> None:
    rng = np.random.default_rng(1)
    values, member = rng.normal(size=(9, 30)), unequal(9, 30)
    for ours, numpys in ((mean, np.mean), (median, np.median), (deviation, np.std)):
        expected = [numpys(values[member[:, row], row]) for row in range(30)]
        np.testing.assert_allclose(ours(values, member), expected)


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("member", [balanced(8, 300, 1), unequal(9, 300, 2)], ids=["even", "odd"])
def test_models_that_answer_alike_give_nothing_away(name: str, member: np.ndarray) -> None:
    # All of membership is independent of the answers: whatever an attack sees in the shadows
    # could only come from counts or from rounding.
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 300)
    answer = rng.normal(size=(300, 3)) + 0.1
    answer -= np.log(np.exp(answer).sum(axis=-1, keepdims=True))
    log_p = np.repeat(answer[None], len(member) + 1, axis=0)
    hits = (log_p.argmax(axis=-1) == labels).astype(float)
    evidence = Evidence(log_p, hits, labels, References(member, 0), seed=0)
    for attack in ATTACKS[name]:
        scores = np.stack([metrics.rounded(one) for one in attack.scores(evidence)])
        aucs = [
            metrics.roc_auc(*pair)
            for pair in zip(scores[1:], member, strict=True)
            if not pair[1].all() and pair[1].any()
        ]
        expected = 0.03 if name in ("shadow", "boosted") else 0.08
        assert abs(np.mean(aucs) - 0.5) < expected, attack


def test_equal_answers_get_equal_scores_from_ratio_attacks() -> None:
    member = balanced(8, 200)
    log_p = np.log(np.full((9, 200, 3), [0.7, 0.2, 0.1]))
    labels = np.zeros(200, int)
    evidence = Evidence(log_p, np.ones((9, 200)), labels, References(member, 0), seed=0)
    for name in ("label_lira", "lira_online", "lira_offline", "rmia_online", "rmia_offline"):
        for attack in ATTACKS[name]:
            for scores in attack.scores(evidence):
                assert np.unique(metrics.rounded(scores)).size == 1, attack


def test_costly_attacks_come_last() -> None:
    costly = [variants[0].costly for variants in ATTACKS.values()]
    assert all(a <= b for a, b in pairwise(costly))


@pytest.mark.parametrize("name", ATTACKS)
def test_variants_of_an_attack_agree_on_what_they_are(name: str) -> None:
    assert len({(a.access, a.needs_shadows, a.per_class, a.costly) for a in ATTACKS[name]}) == 1


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_change_nothing_they_are_given(name: str) -> None:
    rng = np.random.default_rng(4)
    log_p = rng.normal(size=(5, 60, 4))
    log_p -= np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    labels, hits = rng.integers(0, 4, 60), rng.random((5, 60)).round()
    for array in (log_p, hits, labels):
        array.flags.writeable = False
    evidence = Evidence(log_p, hits, labels, References(balanced(4, 60), 0), seed=0)
    for attack in ATTACKS[name]:
        scores = attack.scores(evidence)
        assert scores.shape == (5, 60)
        assert np.isfinite(scores).all()


def test_attacks_share_no_stream_with_members_drawn_from_the_same_seed() -> None:
    for seed in (0, 1, 7):
        halves = random_of(seed).permutation(2000) < 1000
        for drawn in (np.random.default_rng(seed), np.random.default_rng([seed, 0])):
            member = drawn.permutation(2000) < 1000
            assert 0.4 < (halves == member).mean() < 0.6
