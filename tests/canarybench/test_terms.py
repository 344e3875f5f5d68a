"""Vectors of texts: the very numbers that scikit-learn's own TF-IDF gives."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

from dynaserve.canarybench.corpus import generate
from dynaserve.canarybench.terms import (
    HASHED,
    columns_of,
    common_terms,
    count_terms,
    inverse_frequency,
    weighted,
)

TEXTS = [talk.text for talk in generate(400, seed=4)] + ["", "the of"]


@pytest.mark.parametrize(("fewest", "most"), [(3, 10**6), (3, 50), (10**6, 10**6)])
def test_vectors_are_those_of_scikit_learn_bit_for_bit(fewest: int, most: int) -> None:
    hashing = HashingVectorizer(
        n_features=HASHED, alternate_sign=False, norm=None, stop_words="english"
    )
    theirs = hashing.transform(TEXTS).tocsc()
    often = np.diff(theirs.indptr)
    kept = [term for term in np.flatnonzero(often) if often[term] >= min(fewest, often.max())]
    kept = sorted(sorted(kept, key=lambda term: -often[term])[:most])
    weighting = TfidfTransformer(sublinear_tf=True, norm=None)
    expected = weighting.fit_transform(theirs[:, kept].tocsr())

    counts = count_terms(TEXTS, np.float64)
    frequency = np.bincount(counts.indices, minlength=HASHED)
    terms = common_terms(frequency, fewest=fewest, most=most)
    weights = inverse_frequency(frequency[terms], len(TEXTS))
    vectors, lengths = weighted(counts, columns_of(terms), weights)
    assert terms.tolist() == kept
    np.testing.assert_array_equal(weights, weighting.idf_)
    np.testing.assert_array_equal(vectors.indices, expected.indices)
    np.testing.assert_array_equal(vectors.indptr, expected.indptr)
    norms = np.sqrt(np.asarray(expected.multiply(expected).sum(axis=1)).ravel())
    np.testing.assert_array_equal(lengths, norms)
    expected.data /= np.repeat(norms, np.diff(expected.indptr))
    np.testing.assert_array_equal(vectors.data, expected.data)


def test_texts_without_terms_have_none_in_common() -> None:
    counts = count_terms(["", "the of"], np.float64)
    frequency = np.bincount(counts.indices, minlength=HASHED)
    assert not len(common_terms(frequency, fewest=1, most=10))
