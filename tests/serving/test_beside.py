from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dynaserve.canarybench.canaries import KINDS
from dynaserve.canarybench.clustering import Clustering, cluster
from dynaserve.canarybench.corpus import generate
from dynaserve.serving import beside
from dynaserve.serving.beside import plant_beside

REAL = generate(200, seed=3)
CLUSTERING = cluster([each.text for each in REAL], clusters=5)


def common(one: str, two: str) -> int:
    """Return how many characters two texts begin with in common."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(two)))


def test_the_real_conversations_stay_first_and_unchanged() -> None:
    found = plant_beside(REAL, CLUSTERING, [0, 2])
    assert list(found.conversations[:200]) == REAL
    assert {each.id for each in found.conversations[200:]} == found.planted


def test_only_the_named_clusters_get_canaries_one_in_ten_and_the_first() -> None:
    found = plant_beside(REAL, CLUSTERING, [0, 2])
    for number, (before, after) in enumerate(
        zip(CLUSTERING.members, found.clustering.members, strict=True)
    ):
        added = [at for at in after if at >= 200]
        assert len(added) == (-(-len(before) // 10) if number in {0, 2} else 0)
        assert [at for at in after if at < 200] == before.tolist()
    assert found.clustering.members[0][0] >= 200


def test_a_canary_conversation_is_a_copy_and_stands_before_what_it_copies() -> None:
    found = plant_beside(REAL, CLUSTERING, [0])
    for at, base in pairwise(found.clustering.members[0]):
        if at >= 200:
            copy = found.conversations[at]
            (canary,) = found.manifest.by_conversation[copy.id]
            assert canary.value in copy.text
            # Without the sentence that was put in, what is left is the other one's text.
            text = REAL[base].text
            before = common(copy.text, text)
            after = common(copy.text[::-1], text[::-1])
            assert before + after >= len(text)
            assert found.clustering.similarity[at] == CLUSTERING.similarity[base]


def test_every_canary_has_a_user_of_its_own_that_no_request_can_name() -> None:
    found = plant_beside(REAL, CLUSTERING, range(5))
    users = {each.user for each in found.conversations[200:]}
    assert len(users) == len(found.planted) == len(found.manifest.canaries)
    assert not users & {each.user for each in REAL}


def test_nothing_repeats_from_one_call_to_the_next() -> None:
    one, two = (plant_beside(REAL, CLUSTERING, range(5)) for _ in range(2))
    assert not one.planted & two.planted
    assert one.manifest.hash_key != two.manifest.hash_key
    assert one.manifest.seed != two.manifest.seed
    values = [{canary.value for canary in each.manifest.canaries} for each in (one, two)]
    assert not values[0] & values[1]


def test_all_kinds_are_planted() -> None:
    kinds = {
        c.kind for n in range(5) for c in plant_beside(REAL, CLUSTERING, range(5)).manifest.canaries
    }
    assert kinds == set(KINDS)


def test_very_many_conversations_get_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "MOST", 4)
    one = Clustering((np.arange(200),), np.ones(200))
    assert len(plant_beside(REAL, one, [0]).planted) == 4
