"""Large clustering: the same whatever the order and the batches, and right by plain computation."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfTransformer
from threadpoolctl import threadpool_limits

from dynaserve.canarybench import large
from dynaserve.canarybench.conversations import Conversation
from dynaserve.canarybench.corpus import generate
from dynaserve.canarybench.large import Model, default_clusters, fit
from dynaserve.canarybench.large_sample import Sample
from dynaserve.canarybench.terms import HASHED, count_terms
from dynaserve.npz import write_arrays

TALKS = generate(900, seed=2)
THREE = ["red apple pie recipe", "late train station", "apple pie red", "the train is late"]


def fitted(
    talks: list[Conversation], clusters: int, *, seed: int = 0, batch: int = 1000, size: int = 10**6
) -> Model:
    """Fit as a caller does who has texts in batches."""
    sample, frequency = Sample(size, seed), np.zeros(HASHED, np.int64)
    for start in range(0, len(talks), batch):
        some = talks[start : start + batch]
        counts = count_terms([talk.text for talk in some])
        frequency += np.bincount(counts.indices, minlength=HASHED)
        sample.add([talk.id for talk in some], counts)
    return fit(sample.drawn(), frequency, len(talks), clusters=clusters, seed=seed)


def talks_of(texts: list[str]) -> list[Conversation]:
    return [Conversation(f"c{at}", f"u{at}", text) for at, text in enumerate(texts)]


def arrays(model: Model) -> tuple[Any, ...]:
    return model.terms.tolist(), model.weights.tolist(), model.centroids.tolist()


def test_terms_are_counted_but_for_the_commonest_words() -> None:
    text = "The train is late, the train to the town is late: late!"
    words = [w for w in re.findall(r"\w\w+", text.lower()) if w not in ENGLISH_STOP_WORDS]
    counts = count_terms([text, "the of"])
    assert sorted(counts[0].data) == sorted(Counter(words).values()) == [1, 2, 3]
    assert (counts.shape, counts[1].nnz) == ((2, HASHED), 0)
    assert count_terms([]).shape == (0, HASHED)


def test_similar_texts_come_together() -> None:
    labels = fitted(talks_of(THREE), 2).nearest(count_terms(THREE)).labels
    assert labels[0] == labels[2] != labels[1] == labels[3]


def test_neither_order_nor_batches_nor_threads_change_the_clusters() -> None:
    model = fitted(TALKS, 30, seed=3)
    with threadpool_limits(limits=4):
        other = fitted(random.Random(0).sample(TALKS, len(TALKS)), 30, seed=3, batch=77)
    assert arrays(model) == arrays(other)
    assert arrays(model) != arrays(fitted(TALKS, 30, seed=4))
    counts = count_terms([talk.text for talk in TALKS])
    whole = model.nearest(counts)
    for start in range(0, 900, 101):
        part = model.nearest(counts[start : start + 101])
        np.testing.assert_array_equal(part.labels, whole.labels[start : start + 101])
        np.testing.assert_array_equal(part.value, whole.value[start : start + 101])


def test_every_text_is_with_the_centroid_that_is_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "_DISTANCES", 12 * 100)  # in several steps
    counts = count_terms([talk.text for talk in TALKS])
    model = fitted(TALKS, 12)
    nearest = model.nearest(counts)
    frequency = np.asarray((counts > 0).sum(axis=0)).ravel()
    assert model.terms.tolist() == np.flatnonzero(frequency >= 900 // 24).tolist()
    # scikit-learn's own weights, from all texts
    weighting = TfidfTransformer(sublinear_tf=True, norm=None)
    vectors = weighting.fit_transform(counts[:, model.terms].astype(float)).toarray()
    np.testing.assert_allclose(model.weights, weighting.idf_, rtol=1e-6)
    lengths = np.linalg.norm(vectors, axis=1)
    units = vectors / np.maximum(lengths, 1)[:, None]  # none that is not 0 is shorter
    centroids = model.centroids.T.astype(float)
    distances = np.linalg.norm(units[:, None] - centroids[None], axis=2)
    np.testing.assert_allclose(
        distances[np.arange(900), nearest.labels], distances.min(axis=1), atol=1e-5
    )
    cosines = np.einsum("nt,nt->n", units, centroids[nearest.labels])
    cosines /= np.linalg.norm(centroids, axis=1)[nearest.labels]
    np.testing.assert_allclose(nearest.similarity, cosines, atol=1e-5)
    np.testing.assert_allclose(nearest.value, cosines * lengths, rtol=1e-4, atol=1e-6)
    assert nearest.similarity.mean() > 0.5


def test_a_part_of_the_texts_finds_clusters_for_all() -> None:
    talks = generate(3000, seed=5)
    counts = count_terms([talk.text for talk in talks])
    whole = fitted(talks, 24).nearest(counts).similarity.mean()
    part = fitted(talks, 24, size=600).nearest(counts).similarity.mean()
    assert part > 0.95 * whole


def test_only_the_most_frequent_terms_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "TERMS", 20)
    model = fitted(TALKS, 10)
    frequency = np.bincount(count_terms([talk.text for talk in TALKS]).indices, minlength=HASHED)
    assert len(model.terms) == 20
    assert sorted(frequency[model.terms])[0] >= np.sort(frequency)[-20]


@pytest.mark.parametrize(
    "texts",
    [["one"], ["", ""], ["the", "of the"], ["same words"] * 9, ["\0", "\ud800", "x"]],
)
def test_odd_texts_make_clusters_too(texts: list[str]) -> None:
    nearest = fitted(talks_of(texts), 5).nearest(count_terms(texts))
    assert len(nearest.labels) == len(texts)
    assert np.isfinite(nearest.value).all()
    assert len({*zip(texts, nearest.labels.tolist(), strict=True)}) == len({*texts})


def test_a_text_without_a_known_term_fits_nowhere() -> None:
    nearest = fitted(TALKS, 10).nearest(count_terms(["zanzibar quux", TALKS[0].text]))
    assert nearest.similarity[0] == nearest.value[0] == 0 < nearest.similarity[1]


def test_a_model_is_kept_in_a_file(tmp_path: Path) -> None:
    model = fitted(TALKS, 10)
    model.save(tmp_path / "model.npz")
    assert arrays(Model.load(tmp_path / "model.npz")) == arrays(model)
    write_arrays(tmp_path / "other.npz", {"terms": np.zeros(1)})
    with pytest.raises(ValueError, match=r"other\.npz: is no model of clusters"):
        Model.load(tmp_path / "other.npz")


def test_as_many_clusters_as_the_paper() -> None:
    assert [default_clusters(count) for count in (1, 3, 3000, 10**6)] == [1, 1, 54, 1000]


def test_a_missing_library_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(ImportError, match=r"dynaserve\[canary\]"):
        count_terms(THREE)
