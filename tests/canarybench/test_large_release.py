"""What is published of large clusters: counted over all, told by a few, and nobody twice."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dynaserve.canarybench import large_release
from dynaserve.canarybench.clustering import Clustering
from dynaserve.canarybench.conversations import Conversation
from dynaserve.canarybench.corpus import generate
from dynaserve.canarybench.large_release import (
    QUOTED,
    Assigned,
    Selection,
    publish_selected,
    select,
    user_hash,
)
from dynaserve.canarybench.pipeline import Release, prepare
from dynaserve.canarybench.summarizers import Exemplars, Group, keyword_summary
from dynaserve.redaction import redact


def assigned(talks: list[Conversation], labels: list[int], seed: int = 0) -> Assigned:
    """Assign conversations to clusters, with values that are no two the same."""
    generator = np.random.default_rng(seed)
    count = len(talks)
    return Assigned(
        labels=np.array(labels, np.int32),
        users=np.array([user_hash(talk.user) for talk in talks], np.uint64),
        similarity=generator.random(count, np.float32),
        value=generator.permutation(count).astype(np.float32),
        quotable=np.ones(count, bool),
    )


def parcels(count: int, users: int, *, name: str = "p") -> list[Conversation]:
    return [
        Conversation(f"{name}{n}", f"{name}u{n % users}", f"My {name}arcel {n} is late again.")
        for n in range(count)
    ]


def read(selection: Selection, talks: list[Conversation]) -> dict[int, Conversation]:
    return {int(at): talks[at] for at in selection.positions}


def publish(
    talks: list[Conversation], given: Assigned, k_min: int = 25, **options: object
) -> Release:
    selection = select(given, k_min=k_min)
    return publish_selected(selection, read(selection, talks), {}, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_users_are_counted_and_quoted_as_a_plain_loop_does(seed: int) -> None:
    generator = np.random.default_rng(seed)
    talks = [Conversation(f"c{n}", f"u{generator.integers(40)}", "text") for n in range(300)]
    given = assigned(talks, generator.integers(0, 4, 300).tolist(), seed)
    given = replace(given, quotable=generator.random(300) < 0.7)
    selection = select(given, k_min=2)
    sizes = selection.conversations.tolist()
    assert sizes == sorted(sizes, reverse=True)
    for number, label in enumerate(selection.labels):
        own = [at for at in range(300) if given.labels[at] == label]
        assert selection.conversations[number] == len(own)
        assert selection.users[number] == len({talks[at].user for at in own})
        assert selection.similarity[number] == pytest.approx(sum(given.similarity[own].tolist()))
        best: dict[str, int] = {}
        for at in sorted(own, key=lambda at: -given.value[at]):
            if given.quotable[at]:
                best.setdefault(talks[at].user, at)
        expected = sorted(best.values(), key=lambda at: -given.value[at])[:QUOTED]
        assert selection.members[number].tolist() == expected


def test_a_user_who_writes_most_is_quoted_once() -> None:
    talks = [*parcels(200, 1), *parcels(30, 30, name="q")]
    given = assigned(talks, [0] * 230)
    given = replace(given, value=np.arange(230, 0, -1).astype(np.float32))
    (members,) = select(given).members
    assert members.tolist() == [0, *range(200, 230)]


def test_k_min_counts_all_users_and_holds_back_the_others() -> None:
    talks = parcels(100, 24)
    given = assigned(talks, [0] * 100)
    assert [len(publish(talks, given, k_min=k).clusters) for k in (24, 25)] == [1, 0]
    release = publish(talks, given)
    assert release.suppressed == ("suppressed-001",)
    assert math.isnan(release.coherence)


def test_a_k_min_above_the_number_quoted_reads_as_many() -> None:
    talks = parcels(200, 200)
    assert len(select(assigned(talks, [0] * 200), k_min=120).members[0]) == 120


def test_hashes_that_fall_together_make_a_count_too_low() -> None:
    talks = parcels(25, 25)
    given = assigned(talks, [0] * 25)
    assert len(publish(talks, given).clusters) == 1
    given.users[3] = given.users[4]
    assert publish(talks, given).clusters == ()


def test_conversations_too_long_to_read_count_and_are_not_quoted() -> None:
    talks = parcels(40, 40)
    given = assigned(talks, [0] * 40)
    given.quotable[:10] = False
    release = publish(talks, given, summarizer=Exemplars(40))
    assert (release.clusters[0].users, release.clusters[0].conversations) == (40, 40)
    assert len(release.clusters[0].summary.splitlines()) == 30
    given.quotable[:20] = False
    assert publish(talks, given).clusters == ()


def test_it_equals_the_small_way_where_all_conversations_are_read() -> None:
    talks = [Conversation(t.id, f"user-{n}", t.text) for n, t in enumerate(generate(120, seed=3))]
    labels = [0] * 50 + [1] * 40 + [2] * 30
    given = assigned(talks, labels)
    members = [
        sorted((at for at in range(120) if labels[at] == label), key=lambda at: -given.value[at])
        for label in range(3)
    ]
    clustering = Clustering(tuple(map(np.array, members)), given.similarity.astype(float))
    for summarizer in (keyword_summary, Exemplars(5)):
        small = prepare(talks, clustering, k_min=35).summarized(summarizer)
        large = publish(talks, given, k_min=35, summarizer=summarizer)
        assert large.serialized() == small.serialized()
        assert large.members.keys() == small.members.keys()


def test_published_numbers_are_those_of_all() -> None:
    talks = [*parcels(400, 130), *parcels(90, 60, name="q")]
    given = assigned(talks, [0] * 400 + [1] * 90)
    release = publish(talks, given)
    assert [(c.users, c.conversations) for c in release.clusters] == [(130, 400), (60, 90)]
    assert release.coherence == pytest.approx(given.similarity.mean())


def test_planted_conversations_are_known_by_the_name_of_their_cluster() -> None:
    talks = [*parcels(30, 5), *parcels(60, 60, name="q"), *parcels(40, 40, name="r")]
    given = assigned(talks, [4] * 30 + [7] * 60 + [1] * 40)
    selection = select(given)
    planted = {4: ["p3"], 1: ["r1", "r9"]}
    release = publish_selected(selection, read(selection, talks), planted)
    assert release.members == {
        "cluster-001": (),
        "cluster-002": ("r1", "r9"),
        "suppressed-001": ("p3",),
    }
    assert [cluster.conversations for cluster in release.clusters] == [60, 40]


def test_only_what_is_read_is_redacted_and_what_is_published_is() -> None:
    talks = [Conversation(t.id, t.user, f"{t.text} Ask bo@example.com.") for t in parcels(500, 500)]
    seen: list[str] = []
    groups: list[Group] = []

    def redactor(text: str) -> str:
        seen.append(text)
        return redact(text)

    def summarizer(group: Group) -> str:
        groups.append(group)
        return "Write to me@example.com"

    release = publish(talks, assigned(talks, [0] * 500), summarizer=summarizer, redact=redactor)
    assert sum("arcel" in text and " " in text for text in seen) == QUOTED == len(groups[0].texts)
    assert all("[EMAIL]" in text and "bo@" not in text for text in groups[0].texts)
    assert release.clusters[0].summary == "Write to [EMAIL]"
    open_release = publish(
        talks, assigned(talks, [0] * 500), k_min=1, summarizer=Exemplars(), redact=None
    )
    assert "bo@example.com" in json.loads(open_release.serialized())["clusters"][0]["summary"]


def test_texts_of_clusters_that_are_held_back_are_not_asked_for() -> None:
    talks = [*parcels(30, 30), *parcels(20, 20, name="q")]
    selection = select(assigned(talks, [0] * 30 + [1] * 20))
    assert selection.positions.tolist() == [*range(30)]


def test_a_k_min_that_holds_nothing_back_by_mistake_is_refused() -> None:
    with pytest.raises(ValueError, match="k_min: must be at least 1, got 0"):
        select(assigned(parcels(3, 3), [0] * 3), k_min=0)


def test_users_are_told_apart_whatever_they_are_called() -> None:
    names = ["", "a", "A", "a ", "\ud800", "1", "ü"]
    assert len({user_hash(name) for name in names}) == len(names)
    assert all(0 <= user_hash(name) < 2**64 for name in names)
    assert large_release.LONGEST >= 1000
