from __future__ import annotations

import numpy as np
import pytest

from dynaserve import RankTemplate
from dynaserve.mia.reproduce import DEFAULT, TRAINING, contender
from dynaserve.mia.reproduce.contenders import PLAIN, as_target
from dynaserve.mia.shadows import ShadowRun

RNG = np.random.default_rng(0)
N, H, K, S = 40, 320, 5, 4


def run() -> ShadowRun:
    held_out_labels = RNG.integers(0, K, H)
    return ShadowRun(
        logits=RNG.normal(size=(N, K)).astype(np.float32),
        labels=RNG.integers(0, K, N),
        member=np.arange(N) < N // 2,
        shadow_logits=RNG.normal(size=(S, N, K)).astype(np.float32),
        shadow_member=RNG.random((S, N)).argsort(axis=0) < S // 2,
        held_out_logits=(RNG.normal(size=(H, K)) + np.eye(K)[held_out_labels]).astype(np.float32),
        held_out_labels=held_out_labels,
        shadow_held_out_logits=RNG.normal(size=(S, H, K)).astype(np.float32),
        random_logits=RNG.normal(size=(50, K)).astype(np.float32),
        queries=RNG.normal(size=(N, 3)),
    )


@pytest.mark.parametrize(
    ("name", "training", "output"),
    [
        ("none", PLAIN, "none"),
        ("rank-template", PLAIN, "rank-template"),
        ("memguard", PLAIN, "memguard"),
        ("hamp", "hamp", "hamp"),
        ("relaxloss", "relaxloss", "none"),
        ("early-stopping", "early_stopping", "none"),
        ("relaxloss+rank-template", "relaxloss", "rank-template"),
        ("plain+hamp", PLAIN, "hamp"),
        ("hamp+none", "hamp", "none"),
    ],
)
def test_a_name_says_how_to_train_and_what_to_release(name, training, output):
    chosen = contender(name)
    assert (chosen.name, chosen.training, chosen.output) == (name, training, output)


@pytest.mark.parametrize("name", ["", "nonsense", "memguard+none", "relaxloss+selena", "+none"])
def test_other_names_are_refused_with_those_known(name):
    with pytest.raises(ValueError, match="known: none, dynanoise-paper"):
        contender(name)


def test_every_listed_defense_is_known():
    assert len(DEFAULT) == 11
    for name in (*DEFAULT, *TRAINING):
        contender(name)


def test_a_shadow_takes_the_targets_place_in_all_that_a_defense_is_fitted_on():
    whole = run()
    swapped = as_target(whole, 2)
    assert (swapped.logits == whole.shadow_logits[2]).all()
    assert (swapped.member == whole.shadow_member[2]).all()
    assert (swapped.held_out_logits == whole.shadow_held_out_logits[2]).all()
    assert swapped.labels is whole.labels


def test_the_attacker_calibrates_a_template_for_each_shadow_on_the_defenders_own_rows():
    whole = run()
    fitted = contender("rank-template").shadow_defenses(whole, 0)
    expected = [
        RankTemplate.calibrate(logits, whole.held_out_labels)
        for logits in whole.shadow_held_out_logits
    ]
    assert [one.template for one in fitted] == [one.template for one in expected]
    assert contender("rank-template").defense(whole, 0).template not in [
        one.template for one in expected
    ]


def test_what_does_not_depend_on_the_model_is_left_to_the_audit():
    for name in ("none", "dynanoise-keyed", "top1"):
        assert contender(name).shadow_defenses(run(), 0) is None


def test_the_key_of_keyed_noise_comes_from_the_seed_alone():
    whole = run()
    keyed = contender("dynanoise-keyed")
    first, again, other = (
        keyed.defense(whole, s)(whole.logits, queries=whole.queries) for s in (0, 0, 1)
    )
    assert (first == again).all()
    assert (first != other).any()
