"""What is published: the benchmark's figures, what is held back, and what never leaves."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from dynaserve.canarybench.clustering import cluster
from dynaserve.canarybench.conversations import Conversation
from dynaserve.canarybench.corpus import generate
from dynaserve.canarybench.manifest import CanaryManifest
from dynaserve.canarybench.pipeline import Prepared, Release, prepare, publish
from dynaserve.canarybench.planting import plant
from dynaserve.canarybench.summarizers import Exemplars, Group, keyword_summary
from dynaserve.redaction import redact

PARCELS = [Conversation(f"p{n}", f"u{n}", f"My parcel {n} is late again.") for n in range(30)]
TRAINS = [Conversation(f"t{n}", f"v{n // 2}", f"The train {n} to town broke.") for n in range(40)]


def published(release: Release) -> Any:
    return json.loads(release.serialized())


def leaking(release: Release, manifest: CanaryManifest) -> tuple[int, int]:
    """Return how many published clusters hold a value of their canaries, and how many have some."""
    leaks = holders = 0
    for entry in published(release)["clusters"]:
        values = [
            canary.value
            for member in release.members[entry["id"]]
            for canary in manifest.by_conversation.get(member, ())
        ]
        holders += bool(values)
        leaks += any(value in json.dumps(entry) for value in values)
    return leaks, holders


@pytest.fixture(scope="module", params=[0, 1])
def runs(request: pytest.FixtureRequest) -> dict[str, Any]:
    planted, manifest = plant(generate(3000, seed=request.param), seed=request.param)
    clustering = cluster([talk.text for talk in planted], seed=request.param)
    return {
        "manifest": manifest,
        "open": prepare(planted, clustering, k_min=1, redact=None),
        "defended": prepare(planted, clustering),
    }


def test_quoted_exemplars_leak_in_nine_of_ten_clusters(runs: dict[str, Any]) -> None:
    leaks, holders = leaking(runs["open"].summarized(Exemplars()), runs["manifest"])
    assert holders >= 50
    assert leaks / holders >= 0.9


def test_k_min_and_redaction_leave_no_canary(runs: dict[str, Any]) -> None:
    for summarizer in (Exemplars(), keyword_summary):
        content = runs["defended"].summarized(summarizer).serialized().decode()
        assert not [c.id for c in runs["manifest"].canaries if c.value in content]


def test_the_defenses_keep_about_the_papers_clusters_and_coherence(
    runs: dict[str, Any],
) -> None:
    before: Prepared = runs["open"]
    after: Prepared = runs["defended"]
    assert len(before.groups) == 54
    assert 25 <= len(after.groups) <= 45  # the paper has 32
    assert abs(after.coherence - before.coherence) < 0.03
    assert 0.55 < before.coherence < 0.75  # the paper has .653


def test_the_defaults_are_the_defenses() -> None:
    talks = [Conversation(t.id, t.user, f"{t.text} Ask bo@example.com.") for t in PARCELS]
    release = publish([*talks, *TRAINS], summarizer=Exemplars(), clusters=2)
    (entry,) = published(release)["clusters"]  # 40 conversations about trains are of 20 users
    assert entry["users"] == entry["conversations"] == 30
    assert "bo@example.com" not in entry["summary"]
    assert "[EMAIL]" in entry["summary"]


def test_k_min_is_about_users_and_conversations() -> None:
    assert len(publish(TRAINS, clusters=1, k_min=20).clusters) == 1
    assert len(publish(TRAINS, clusters=1, k_min=21).clusters) == 0
    same = [Conversation(str(n), "u", "The train broke.") for n in range(40)]
    assert publish(same, clusters=1, k_min=2).clusters == ()


def test_suppressed_clusters_are_counted_and_only_counted() -> None:
    release = publish([*PARCELS, *TRAINS], clusters=2)
    assert published(release)["suppressed_clusters"] == 1
    assert "train" not in release.serialized().decode()
    (name,) = release.suppressed
    assert set(release.members[name]) == {talk.id for talk in TRAINS}


def test_members_are_known_and_not_published() -> None:
    release = publish([*PARCELS, *TRAINS], clusters=2, k_min=1)
    assert sorted(sum(release.members.values(), ())) == sorted(t.id for t in [*PARCELS, *TRAINS])
    content = release.serialized().decode()
    assert set(published(release)) == {"clusters", "suppressed_clusters", "coherence"}
    assert '"p7"' not in content
    assert '"u7"' not in content
    assert "p7" not in repr(release)


def test_what_an_auditor_added_counts_for_nothing() -> None:
    added = [Conversation(f"a{n}", f"w{n}", "My parcel is late, zanzibar.") for n in range(9)]
    ids = [talk.id for talk in added]
    release = publish([*PARCELS, *added], clusters=1, k_min=5, uncounted=ids)
    assert (release.clusters[0].users, release.clusters[0].conversations) == (30, 30)
    assert "zanzibar" not in release.clusters[0].keywords
    assert "zanzibar" in publish([*PARCELS, *added], clusters=1, k_min=5).clusters[0].keywords
    assert publish([*PARCELS, *added], clusters=1, k_min=31, uncounted=ids).clusters == ()


def test_summarizers_see_redacted_texts_and_are_redacted_again() -> None:
    seen: list[Group] = []

    def summarizer(group: Group) -> str:
        seen.append(group)
        return "Write to me@example.com"

    talks = [Conversation(t.id, t.user, f"{t.text} I am bo@example.com.") for t in PARCELS]
    release = publish(talks, summarizer=summarizer, clusters=1)
    assert release.clusters[0].summary == "Write to [EMAIL]"
    assert all("[EMAIL]" in text and "bo@" not in text for text in seen[0].texts)
    open_release = publish(talks, summarizer=summarizer, clusters=1, redact=None)
    assert open_release.clusters[0].summary == "Write to me@example.com"
    assert "bo@example.com" in seen[1].texts[0]


def test_another_redactor_may_be_used() -> None:
    release = publish(PARCELS, summarizer=Exemplars(1), clusters=1, redact=str.upper, k_min=1)
    assert release.clusters[0].summary.startswith("MY PARCEL")
    assert release.clusters[0].keywords == ()  # it would change every word


def test_a_summarizer_that_fails_publishes_nothing() -> None:
    with pytest.raises(ZeroDivisionError):
        publish(PARCELS, summarizer=lambda _: str(1 / 0), clusters=1)
    with pytest.raises(TypeError, match="summarizer: must return a string, got NoneType"):
        publish(PARCELS, summarizer=lambda _: None, clusters=1)  # type: ignore[arg-type, return-value]


def test_a_release_is_the_same_bytes_for_a_seed() -> None:
    talks = generate(400, seed=2)
    assert (
        publish(talks, k_min=2, seed=1).serialized() == publish(talks, k_min=2, seed=1).serialized()
    )


def test_a_release_of_nothing_has_no_coherence() -> None:
    release = publish(PARCELS, k_min=1000)
    assert math.isnan(release.coherence)
    assert published(release)["coherence"] is None
    assert published(release)["clusters"] == []


def test_lone_surrogates_can_be_published() -> None:
    talks = [Conversation(str(n), str(n), "broken \ud800 text") for n in range(3)]
    release = publish(talks, summarizer=Exemplars(1), clusters=1, k_min=1)
    assert published(release)["clusters"][0]["summary"] == "broken \ud800 text"


def test_arguments_out_of_range_are_named() -> None:
    with pytest.raises(ValueError, match="k_min: must be at least 1, got 0"):
        publish(PARCELS, k_min=0)
    with pytest.raises(ValueError, match="conversations 0 and 1 have the same id"):
        publish([PARCELS[0], PARCELS[0]])
    with pytest.raises(ValueError, match="clustering: is one of other conversations"):
        prepare(PARCELS, cluster(["a b"]), redact=redact)
