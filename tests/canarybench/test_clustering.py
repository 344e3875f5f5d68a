"""Clusters: repeatable, complete, and measured as a plain computation measures them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dynaserve.canarybench import clustering
from dynaserve.canarybench.clustering import cluster
from dynaserve.canarybench.corpus import generate

TEXTS = [conversation.text for conversation in generate(900, seed=2)]
THREE = ["red apple pie recipe", "late train station", "apple pie red", "the train is late"]


def as_lists(result: clustering.Clustering) -> list[list[int]]:
    return [group.tolist() for group in result.members]


def test_similar_texts_come_together() -> None:
    assert sorted(map(sorted, as_lists(cluster(THREE, clusters=2)))) == [[0, 2], [1, 3]]


def test_the_papers_3000_make_54_clusters() -> None:
    talks = [conversation.text for conversation in generate(3000, seed=0)]
    assert len(cluster(talks).members) == 54


def test_every_text_is_in_one_cluster_the_largest_first() -> None:
    result = cluster(TEXTS)
    assert sorted(np.concatenate(result.members).tolist()) == list(range(900))
    sizes = [len(group) for group in result.members]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == 30


def test_a_seed_repeats_whatever_the_number_of_threads() -> None:
    first = cluster(TEXTS, seed=3)
    with threadpool_limits(limits=4):
        second = cluster(TEXTS, seed=3)
    assert as_lists(first) == as_lists(second)
    np.testing.assert_array_equal(first.similarity, second.similarity)
    assert as_lists(first) != as_lists(cluster(TEXTS, seed=4))


def test_large_corpora_take_the_mini_batch_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "LARGE", 500)
    monkeypatch.setattr(clustering, "TERMS", 200)
    first = cluster(TEXTS, clusters=10, seed=3)
    assert as_lists(first) == as_lists(cluster(TEXTS, clusters=10, seed=3))
    assert sorted(np.concatenate(first.members).tolist()) == list(range(900))
    assert first.coherence() > 0.3


def test_coherence_is_the_mean_cosine_to_the_centroid() -> None:
    rng = np.random.default_rng(5)
    points = rng.normal(size=(40, 6)) + np.repeat(np.eye(6)[:4] * 9, 10, axis=0)

    def embed(texts: Sequence[str]) -> NDArray[np.float64]:
        return points[: len(texts)]

    result = cluster(["text"] * 40, clusters=4, embed=embed)
    assert sorted(map(sorted, as_lists(result))) == [
        list(range(i, i + 10)) for i in (0, 10, 20, 30)
    ]
    cosines = []
    for group in as_lists(result):
        units = [points[at] / math.sqrt(float(points[at] @ points[at])) for at in group]
        mean = sum(units) / len(units)
        cosines.append([float(unit @ mean) / math.sqrt(float(mean @ mean)) for unit in units])
        assert cosines[-1] == sorted(cosines[-1], reverse=True), "nearest first"
    assert result.coherence() == pytest.approx(np.mean(cosines))
    assert result.coherence([1, 3]) == pytest.approx(np.mean([cosines[1], cosines[3]]))


def test_coherence_of_nothing_is_no_number() -> None:
    assert math.isnan(cluster(THREE).coherence([]))


def test_those_that_say_most_of_the_subject_come_first() -> None:
    texts = ["parcel late courier refund", "parcel late", "parcel late courier", "hello parcel"]
    (members,) = as_lists(cluster(texts, clusters=1))
    assert members[0] == 0
    assert members[-1] == 3


@pytest.mark.parametrize(
    "texts",
    [
        ["one"],
        ["", ""],
        ["the", "of the"],
        ["same words"] * 9,
        ["\0", "\ud800", "x"],
        ["a" * 10**6],
    ],
)
def test_odd_texts_make_clusters_too(texts: list[str]) -> None:
    result = cluster(texts)
    assert sorted(np.concatenate(result.members).tolist()) == list(range(len(texts)))
    assert np.isfinite(result.similarity).all()


def test_there_are_no_more_clusters_than_different_texts() -> None:
    assert len(cluster(["apple pie", "late train"] * 10, clusters=5).members) == 2


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.zeros((3, 2)), r"embed: needs shape \(4, d\), got \(3, 2\)"),
        (np.zeros(4), r"embed: needs shape \(4, d\), got \(4,\)"),
        (np.zeros((4, 0)), r"embed: needs shape"),
        (np.full((4, 2), np.nan), "embed: gave vectors that are not finite"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(vectors: NDArray[np.float64], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cluster(THREE, embed=lambda _: vectors)


def test_nothing_and_no_clusters_are_refused() -> None:
    with pytest.raises(ValueError, match="texts: needs at least one"):
        cluster([])
    with pytest.raises(ValueError, match="clusters: must be at least 1, got 0"):
        cluster(THREE, clusters=0)


def test_a_missing_library_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(ImportError, match=r"dynaserve\[canary\]"):
        cluster(THREE)
