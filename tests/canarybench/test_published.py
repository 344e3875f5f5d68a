from __future__ import annotations

import pytest

from dynaserve.canarybench import Canary, CanaryManifest
from dynaserve.canarybench.published import publication
from dynaserve.canarybench.serialized import Step, read_release

MANIFEST = CanaryManifest(
    tuple(Canary(f"c{i}", "phrase", f"violet lantern {i}", f"v{i}") for i in range(3))
)
MEMBERS = {"a": ["v0", "v9"], "b": ["v1", "v2"], "c": ["v8"]}
BOTH = {"clusters": [{"id": "a", "summary": "x"}, {"id": "b", "summary": "y"}]}


def published(release, members=None):
    return publication(read_release(release), MANIFEST, members)


def canaries(found):
    return {cluster.id: cluster.canaries for cluster in found.clusters}


def test_clusters_hold_the_canaries_of_their_conversations():
    assert canaries(published(BOTH, MEMBERS)) == {"a": {"c0"}, "b": {"c1", "c2"}}


def test_a_cluster_that_is_not_published_was_held_back_with_its_canaries():
    found = published({"clusters": [{"id": "a"}]}, MEMBERS)
    assert found.suppressed == ("b", "c")
    assert found.at_risk == {"c0"}


def test_an_entry_may_say_that_it_was_held_back():
    release = {"clusters": [{"id": "a", "summary": "x"}, {"id": "b", "suppressed": True}]}
    assert published(release).suppressed == ("b",)
    assert published(release, MEMBERS).at_risk == {"c0"}
    assert list(canaries(published(release))) == ["a"]


def test_without_memberships_every_canary_is_at_risk():
    found = published(BOTH)
    assert found.at_risk == {"c0", "c1", "c2"}
    assert canaries(found) == {"a": None, "b": None}


@pytest.mark.parametrize(
    "release",
    [
        {"summaries": [{"cluster_id": "a"}, {"cluster": "b"}]},
        {"clusters": {"a": "x", "b": ["y"]}},
        [{"id": "a"}, {"id": "b"}],
        '{"id": "a"}\n{"id": "b"}\n',
    ],
)
def test_every_usual_shape_is_known(release):
    assert list(canaries(published(release, MEMBERS))) == ["a", "b"]


def test_clusters_without_ids_are_numbered():
    found = published({"clusters": [{"summary": "x"}, "y"]}, {0: ["v0"], 1: ["v1"]})
    assert canaries(found) == {"0": {"c0"}, "1": {"c1"}}


@pytest.mark.parametrize("nothing", [{"summary": None}, {"summary": "", "keywords": []}])
def test_an_entry_that_says_nothing_was_held_back(nothing):
    found = published({"clusters": [{"id": "a", "summary": "x"}, {"id": "b", **nothing}]}, MEMBERS)
    assert list(canaries(found)) == ["a"]
    assert found.suppressed == ("b", "c")
    assert found.at_risk == {"c0"}


def test_a_find_is_in_the_entry_around_it():
    found = published({"title": "t", **BOTH})
    summary = (Step(1, "clusters"), Step(1), Step(1, "summary"))
    assert found.position_of("c0", summary) == 1
    assert found.position_of("c0", (Step(0, "title"),)) is None


def test_of_a_text_only_the_memberships_tell_the_cluster():
    found = published("plain text", MEMBERS)
    assert found.position_of("c2", (Step(0),)) == 1
    assert found.suppressed == ()
    assert found.at_risk == {"c0", "c1", "c2"}


def test_without_anything_known_the_release_is_one():
    found = published("plain text")
    assert list(canaries(found)) == ["release"]
    assert found.position_of("c2", (Step(5),)) == 0


def test_a_cluster_that_nobody_knows_is_refused_by_number():
    with pytest.raises(ValueError, match="publishes 1 clusters that the given memberships do not"):
        published({"clusters": [{"id": "a"}, {"id": "ada@example.com"}]}, MEMBERS)
