"""The list of peers, each from a trainer to a defense."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dynaserve.defenses import Defense
from dynaserve.mia.peers import PEERS, TRAINING_CHOICES, Peer
from dynaserve.mia.shadows import train_shadows
from dynaserve.mia.shadows.networks import Schedule

EVERY = {**PEERS, **TRAINING_CHOICES}


def test_the_peers_of_the_comparison_are_all_there() -> None:
    names = ["memguard", "hamp", "relaxloss", "selena", "advreg", "top1", "temperature"]
    assert list(PEERS) == names
    assert list(TRAINING_CHOICES) == ["early_stopping", "dropout"]
    assert all(name == peer.name and peer.source for name, peer in EVERY.items())


@pytest.mark.parametrize("peer", EVERY.values(), ids=EVERY.keys())
def test_a_peer_leads_from_trainer_to_release(peer: Peer, task: Any) -> None:
    plain = replace(task.plain, schedule=Schedule(2, 20))
    trainer = peer.trainer(plain, task.population)
    assert (trainer is plain) == (peer.retrain is None)
    run = train_shadows(trainer, task.population, shadows=2)
    defense = peer.defense(run)
    assert (defense is None) == (peer.output is None)
    if defense is not None:
        assert isinstance(defense, Defense)
        released = defense(run.logits)
        np.testing.assert_array_equal(released.argmax(axis=1), run.logits.argmax(axis=1))
    assert peer.retrain or peer.output


@pytest.mark.parametrize("name", ["hamp", "relaxloss", "selena", "advreg", *TRAINING_CHOICES])
def test_training_parts_make_another_model(name: str, task: Any, tmp_path: Any) -> None:
    plain = replace(task.plain, schedule=Schedule(2, 20))
    train_shadows(plain, task.population, shadows=2, directory=tmp_path)
    trainer = EVERY[name].trainer(plain, task.population)
    with pytest.raises(ValueError, match="differs in trainer;"):
        train_shadows(trainer, task.population, shadows=2, directory=tmp_path)


def test_dropout_needs_a_network_that_has_it(task: Any) -> None:
    plain = replace(task.plain, network=lambda: None)
    with pytest.raises(ValueError, match="needs a network of dynaserve"):
        TRAINING_CHOICES["dropout"].trainer(plain, task.population)
